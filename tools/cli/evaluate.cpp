// `vkformer evaluate`: how well a model does its job on files that it has not seen, as `train` says it of --valid
// files.

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/adapters/adapter_files.h"
#include "models/model_folder.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/checkpoint.h"
#include "tools/cli/adapter_training.h"
#include "tools/cli/evaluation.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/train_plan.h"
#include "tools/cli/train_state.h"

namespace vkformer {

namespace {

/// The checkpoint that tells how a folder's model was trained; empty where none does.
std::filesystem::path training_of(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / "state.json")) return folder;
  // RUN/best and RUN/average, with checkpoints of their own, lie beside the run's.
  const auto place = std::filesystem::absolute(folder).parent_path(), name = place.filename();
  const auto latest = name == "best" || name == "average" ? latest_checkpoint(place.parent_path()) : std::nullopt;
  return latest.value_or(std::filesystem::path());
}

/// Those that `train` was given, where a run tells them.
TrainFlags training_flags(const EvaluateFlags& given, const std::filesystem::path& folder) {
  const bool adapts = is_adapter_folder(folder);
  if (!given.from.empty() && !adapts)
    throw UsageError(fmt::format("--from names the model of an adapter, and {} is none; leave it out", given.model));
  TrainFlags flags;
  flags.from = given.from;
  flags.common = given.common;
  flags.files = given.files;
  flags.given = given.given;
  if (given.context > 0) flags.context = given.context;
  if (given.batch_tokens > 0) flags.batch_tokens = given.batch_tokens;
  const JobKind* kind = kind_of_flags(flags);
  if (const auto training = training_of(folder); !training.empty()) {
    flags.resume = true;  // the settings are the run's
    const RunState state = load_state(training, flags);
    const JobKind& trained = kind_of_files(state.files);
    if (kind == nullptr)
      throw UsageError(fmt::format("evaluate needs files; this run was trained with {}, so {} {}", trained.option,
                                   trained.option, trained.type_name));
  } else if (adapts) {
    take_adapter(flags, folder);
  }
  if (kind == nullptr) throw UsageError("evaluate needs files of a kind that train knows, as --labels FILE");
  check_options(*kind, given.given);
  flags.settings.products = float_type(flags.dtype);
  return flags;
}

/// Files as those of validation and, for jobs want some, as those of training: nothing is trained.
std::vector<RunFile> files_to_evaluate(const TrainFlags& flags) {
  std::vector<RunFile> files = read_run_files(flags, {});
  for (size_t i = 0, count = files.size(); i < count; ++i) {
    files.push_back(files[i]);
    files.back().role = "valid " + files[i].role;
  }
  return files;
}

std::vector<BatchShape> shapes_of(const TrainingData& data) {
  std::vector<BatchShape> shapes = data.shapes();
  for (const BatchShape& shape : data.validation_shapes())
    if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
  return shapes;
}

/// What the job's data needs of the model that a training began with.
void begin_by(const std::filesystem::path& folder, const std::string& dtype, const TrainFlags& flags,
              const TrainJob& job, Backend& backend) {
  Model model = load_model(folder);
  check(model.task == job.model->task && model.vocabulary == job.model->vocabulary,
        "{} is no model that this one was trained from: its vocabulary is {}, not {}", folder.generic_string(),
        model.vocabulary, job.model->vocabulary);
  model.preference = job.model->preference;
  store_weights_as(model, folder, dtype);
  const Weights weights(model.parameters, folder);
  TrainingPlan plan = plan_evaluation(model, flags.settings, shapes_of(*job.data), backend);
  check_fits(plan, backend);
  Trainer trainer(backend, std::move(plan));
  load_weights(weights, trainer.store(), flags.common.quiet);
  job.begin(backend, trainer);
}

std::string text_of(const nlohmann::json& row, const std::string& scores) {
  std::vector<std::string> parts;
  for (const auto& [key, format] :
       {std::pair{"loss", "loss {:.4f}"}, {"perplexity", "perplexity {:.2f}"}, {"bits_per_byte", "{:.3f} bits a byte"}})
    if (row.contains(key)) parts.push_back(fmt::format(fmt::runtime(format), row[key].get<double>()));
  return fmt::format("{}\n{}", fmt::join(parts, ", "), scores);
}

}  // namespace

void evaluate_model(const EvaluateFlags& given) {
  const std::filesystem::path latest = resolve_adapter_folder(given.model),
                              folder = is_adapter_folder(latest) ? latest : resolve_model_folder(given.model);
  check(std::filesystem::is_directory(folder), "{} is a file; evaluate reads model folders and run folders",
        given.model);
  TrainFlags flags = training_flags(given, folder);
  const JobKind& kind = *kind_of_flags(flags);
  TrainJob job = kind.make(flags, files_to_evaluate(flags), folder);
  if (!job.begin && !given.reference.empty())
    throw UsageError(fmt::format("--reference is for --preferences, not for {}", kind.option));
  const std::filesystem::path model = flags.from.empty() ? folder : std::filesystem::path(flags.from);
  if (!flags.from.empty() && !given.given.contains("--dtype"))
    store_as_trained(flags, *job.model);
  else
    store_weights_as(*job.model, model, given.dtype);
  tell_fallbacks(*job.model, given.dtype, given.common.quiet);
  const auto adapter = flags.from.empty() ? nullptr : std::make_unique<AdapterFiles>(folder);
  if (adapter) adapter->adapt(*job.model);
  const Weights weights(job.model->parameters, model);

  const auto backend = open_backend(flags.common);
  if (job.begin) {
    const std::string& reference = given.reference.empty() ? flags.from : given.reference;
    check(
        !reference.empty(),
        "what a model prefers is told beside the one that its training began with; name that folder with --reference");
    begin_by(resolve_model_folder(reference), given.dtype, flags, job, *backend);
  }
  const auto plan_files = [&] { return plan_evaluation(*job.model, flags.settings, shapes_of(*job.data), *backend); };
  const HostWeights placed =
      fit_device(*job.model, *backend, [&](const Model&) { return plan_files().device_bytes(); });
  if (placed.bytes > 0) say("{}", host_weights_text(placed, *job.model, backend->facts(), "batch"));
  TrainingPlan plan = plan_files();
  check_fits(plan, *backend);
  Trainer evaluator(*backend, std::move(plan));
  load_weights(weights, *job.model, adapter.get(), evaluator.store(), flags.common.quiet);
  Evaluation evaluation = evaluate(job, *backend, evaluator, true, 0, flags.common.quiet);
  check(std::isfinite(evaluation.loss), "the loss is {}: the model's weights, or products in {}, are beyond a number",
        evaluation.loss, flags.dtype);
  nlohmann::json& row = evaluation.row;
  if (row.contains("validation_loss")) row["loss"] = row["validation_loss"];
  row.erase("validation_loss");
  flags.common.json ? print("{}\n", row.dump(1)) : print("{}", text_of(row, evaluation.text));
}

}  // namespace vkformer
