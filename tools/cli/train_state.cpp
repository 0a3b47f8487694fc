#include "tools/cli/train_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/adapters/adapter_head.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/weight_files.h"
#include "tools/cli/model_folder.h"

namespace vkformer {

namespace {

constexpr int64_t most_counted = int64_t{1} << 31;  // of what the command line takes

using Bounds = SettingBounds;

/// Settings as state.json has them, and what those that are numbers may be: one table for writing and reading. They are
/// bounded as on the command line, for anyone may have edited a file.
template <class Visitor>
void visit_settings(TrainFlags& f, Visitor&& visit) {
  constexpr Bounds counted{.least = 1}, text{};
  visit_train_settings(f.settings, visit);
  visit("batch", f.batch, counted);
  visit("batch_tokens", f.batch_tokens, counted);
  visit("mask_share", f.mask_share, {0.001, 1});
  visit("beta", f.beta, {1e-6, 1e6});
  visit("preference_loss", f.preference_loss, text);
  visit("preference_margin", f.preference_margin, {0, 1e3});
  visit("similarity_scale", f.similarity_scale, {1e-3, 1e3});
  visit("skip_long", f.skip_long, {});
  visit("schedule", f.schedule, text);
  visit("label_smoothing", f.label_smoothing, {-1, 0.99});
  visit("context", f.context, counted);
  visit("stride", f.stride, {.least = -1});
  visit("dtype", f.dtype, text);
  visit("lora", f.lora, text);
  visit("weights", f.weights, text);
  visit("dropout", f.dropout, {-1, 0.99});
  visit("validation_fraction", f.validation_fraction, {.most = 0.9});
  visit("evaluate_every", f.evaluate_every, counted);
  visit("evaluation_batches", f.evaluation_batches, counted);
  visit("no_last_evaluation", f.no_last_evaluation, {});
  visit("score_lines", f.score_lines, {});
  visit("checkpoint_every", f.checkpoint_every, counted);
  visit("checkpoint_exactly", f.checkpoint_exactly, {});
  visit("keep", f.keep, {1, 1000});
  visit("keep_best", f.keep_best, text);
  visit("early_stopping", f.early_stopping, {});
  visit("average", f.average, {1, 1000});
  visit("average_best", f.average_best, {.most = 1000});
}

}  // namespace

std::string option_of_setting(std::string name) {
  if (name == "dtype") return "--precision";
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

nlohmann::json settings_of(TrainFlags& flags) {
  nlohmann::json settings;
  visit_settings(flags, [&](const char* name, auto& value, Bounds) { settings[name] = value; });
  return settings;
}

void write_model(const std::filesystem::path& folder, const TrainJob& job) {
  if (job.model->adapter) {  // the config is the base model's, but for the head
    nlohmann::json head = job.head;
    if (!head.empty()) {
      head.update(job.ids);
      write_json(folder / adapter_head_file, head);
    }
    return job.write_text(folder);
  }
  nlohmann::json config = *job.model->config;
  config.update(job.ids);
  write_json(folder / "config.json", config);
  if (!job.generation.empty()) write_file_atomically(folder / generation_file, job.generation);
  job.write_text(folder);
}

void save_checkpoint(CheckpointWriter& writer, TrainFlags& flags, const RunState& state, const TrainJob& job,
                     const Trainer& trainer) {
  if (flags.settings.scales_loss()) flags.settings.loss_scale = trainer.loss_scale();
  writer.commit(
      state.iteration,
      [&](const std::filesystem::path& folder) {
        write_model(folder, job);
        trainer.save(folder);
        nlohmann::json files;
        for (const RunFile& file : state.files) files[file.role] = {{"path", file.path}, {"fingerprint", file.print}};
        nlohmann::json content = {{"iteration", state.iteration}, {"files", files}, {"settings", settings_of(flags)}};
        if (job.write_state) job.write_state(folder);
        if (job.model->adapter)
          content["base"] = {{"path", job.model->adapter->base}, {"fingerprint", state.base_print}};
        write_json(folder / "state.json", content);
      },
      CheckpointWriter::Older::keep);
}

RunState load_state(const std::filesystem::path& checkpoint, TrainFlags& flags) {
  for (const char* option :
       {"--dropout", "--bytes", "--tokenizer", "--target-tokenizer", "--source-lang", "--target-lang", "--apart",
        "--tokenizer-kind", "--vocabulary", "config", "--set", "--moving-average", "--lora", "--weights", "--pooling",
        "--label-kind", "--preference-loss"})
    if (flags.given.contains(option))
      throw UsageError(fmt::format("{} can't change when a run is resumed; leave it out", option));
  const JsonObject json = JsonObject::load(checkpoint / "state.json");
  const JsonObject settings = require_object(json, "settings");
  visit_settings(flags, [&](const char* name, auto& value, Bounds bounds) {
    using T = std::decay_t<decltype(value)>;
    if (flags.given.contains(option_of_setting(name))) return;
    if constexpr (std::is_same_v<T, bool>)
      value = boolean_or(settings, name, false);  // runs of earlier versions don't have it
    else if constexpr (std::is_same_v<T, std::string>)
      value = string_or(settings, name, value);
    else if constexpr (std::is_floating_point_v<T>)
      value = settings.has(name) ? require_number(settings, name, bounds.least, bounds.most) : value;
    else
      value = static_cast<T>(integer_or(settings, name, int64_t{value}, static_cast<int64_t>(bounds.least),
                                        static_cast<int64_t>(bounds.most)));
  });
  // A tenth of the run's rate stays a tenth of another one.
  TrainSettings& s = flags.settings;
  if (flags.given.contains("--learning-rate") && !flags.given.contains("--min-learning-rate"))
    if (const double begun = require_number(settings, "learning_rate", 0, 1e300); s.min_learning_rate == begun / 10)
      s.min_learning_rate = s.learning_rate / 10;
  RunState state{require_integer(json, "iteration", 0, most_counted), {}, {}};
  check(state.iteration == named_step(checkpoint), "{}: \"iteration\" is {}, which its folder is not named after",
        json.name(), state.iteration);
  const JsonObject files = require_object(json, "files");
  for (const auto& [role, value] : files.value().items()) {
    const JsonObject file = require_object(files, role);
    state.files.push_back({role, require_string(file, "path"), require_string(file, "fingerprint")});
  }
  if (flags.lora.empty() && !flags.from.empty())
    throw UsageError("--from can't change when a run is resumed; leave it out");
  if (!flags.lora.empty()) {
    const JsonObject base = require_object(json, "base");
    const std::string path = require_string(base, "path");
    check(!flags.from.empty() || std::filesystem::exists(path),
          "{}, the model this adapter was begun on, is not there; name an equal copy of it with --from", path);
    flags.from = resolve_model_folder(flags.from.empty() ? path : flags.from).generic_string();
    state.base_print = require_string(base, "fingerprint");
    check(base_print(flags.from) == state.base_print, "{} is not the model this adapter was begun on", flags.from);
  }
  return state;
}

}  // namespace vkformer
