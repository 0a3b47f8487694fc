// `vkformer train`: files become a model.

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "models/model_files.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/adapter_training.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/prepared_training.h"
#include "tools/cli/processes.h"
#include "tools/cli/profile.h"
#include "tools/cli/train_plan.h"
#include "tools/cli/train_run.h"
#include "tools/cli/tune.h"

namespace vkformer {

namespace {

/// Where a model lies a run's checkpoints would never be read, and what lies in a checkpoint goes with that.
void check_place_of_new_run(const std::string& out) {
  for (const char* file : {"config.json", "adapter_config.json"})
    check(!std::filesystem::exists(std::filesystem::path(out) / file),
          "{} holds a model ({}), which would still be read in place of the run; choose another --out", out, file);
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(out, none))
    check(!is_gguf(entry.path()), "{} holds {}, which would still be read in place of the run; choose another --out",
          out, in_quotes(entry.path().filename().generic_string()));
  if (const auto around = checkpoint_around(out))
    fail("{} lies in a checkpoint ({}), which its run removes when it goes on; choose another --out", out,
         around->filename().generic_string());
}

/// The folder of the checkpoint to go on from; empty for a new run.
std::filesystem::path checkpoint_to_resume(const TrainFlags& flags, bool leads) {
  // A run that goes on would remove what is read here. (Of several processes one asks: for others this is a use.)
  if (leads && flags.resume && !flags.plan && !flags.out.empty()) check_not_in_use(flags.out);
  const auto latest = flags.out.empty() ? std::nullopt : latest_checkpoint(flags.out);
  check(flags.resume || flags.plan || !latest,
        "{} already holds a run; continue it with --resume or choose another --out", flags.out);
  // A new run would remove what it did not write.
  if (const auto found = flags.out.empty() || flags.plan ? std::nullopt : unnamed_checkpoint(flags.out))
    fail(
        "{} holds {} and no file 'latest' that names it; to go on from there write that name into {}, else choose "
        "another --out",
        flags.out, found->filename().generic_string(), (std::filesystem::path(flags.out) / "latest").generic_string());
  if (!flags.resume && !flags.plan && !flags.out.empty()) check_place_of_new_run(flags.out);
  check(!flags.resume || latest, "{} has no checkpoint to resume from; train it first without --resume", flags.out);
  // RUN/best, RUN/average and the like.
  if (flags.resume && !std::filesystem::exists(*latest / "state.json")) {
    const auto run = (std::filesystem::absolute(flags.out) / "").lexically_normal().parent_path().parent_path();
    fail("{0} has a model, but no state.json of a run to resume;{1} a new run from its weights: train --from {0}",
         flags.out, latest_checkpoint(run) ? fmt::format(" resume the run, --out {};", run.generic_string()) : "");
  }
  return flags.resume ? *latest : std::filesystem::path();
}

/// ", 12288 of them trained (LoRA), the others kept as bf16": most of them.
std::string adapter_text(const Model& model) {
  if (!model.adapter) return "";
  int64_t trained = 0;
  std::map<DType, int64_t> elements;  // of frozen parameters
  for (const ParameterSpec& parameter : model.parameters)
    (parameter.trains() ? trained : elements[parameter.dtype]) += parameter.shape.elements();
  const DType kept = std::ranges::max_element(elements, {}, [](const auto& of) { return of.second; })->first;
  return fmt::format(", {} of them trained (LoRA), the others kept as {}", trained, name_of(kept));
}

/// "gpt2: 4 layers, 804096 parameters, vocabulary 65"
std::string model_text(const Model& model) {
  return fmt::format("{}: {} layers, {} parameters{}, {}", model.family, model.layers, model.parameter_count(),
                     adapter_text(model), input_text(model));
}

/// `--plan` without files: the vocabulary is the config's.
void plan_config(TrainFlags& flags) {
  Model model = model_of_job(flags, {}, flags.bytes ? nlohmann::json{{"vocab_size", 256}} : nlohmann::json::object());
  if (!flags.lora.empty()) give_adapter(flags, model, DType::f32, flags.config);
  check(model.task == Task::causal, "--plan of a {} model needs the files that it would be trained on", model.family);
  set_context(flags, model);
  const auto backend = open_backend(flags.common);
  if (!flags.common.json) print("{}\n", model_text(model));
  print_dry_run(plan_training(model, flags.settings, {causal_batch(model, flags.batch, flags.context)}, *backend),
                *backend, flags.common.json);
}

/// "--data FILE, --pairs SOURCE TARGET or ..."
std::string options_of_kinds() {
  std::string text;
  for (const JobKind& kind : job_kinds()) {
    if (!text.empty()) text += &kind == &job_kinds().back() ? " or " : ", ";
    text += fmt::format("{} {}", kind.option, kind.type_name);
  }
  return text;
}

/// Throws Error for what an evaluation must decide, when no evaluation of the job could.
void check_metric(const TrainFlags& flags, const JobKind& kind, const TrainJob& job) {
  if (!flags.follows_best()) return;
  if (flags.keep_best.empty() || flags.keep_best == "loss") {
    check(job.data->validation_batches() > 0,
          "--keep-best loss, --early-stopping and --average-best need a validation split");
    return;
  }
  const bool validates = job.data->validation_batches() > 0;
  const char* advice = !validates                               ? "nothing without --valid files"
                       : kind.options.contains("--score-lines") ? "nothing with --score-lines 0"
                                                                : "only loss";
  const std::vector<std::string> known = job.scorer ? job.scorer->metrics() : std::vector<std::string>();
  check(std::ranges::find(known, flags.keep_best) != known.end(), "--keep-best {}: this run scores {}", flags.keep_best,
        known.empty() ? advice : fmt::format("{}", fmt::join(known, ", ")));
}

/// What no folder has loaded begins as its family, or LoRA, says.
void initialize_others(Store& store, const Model& model, bool loaded, uint32_t seed) {
  for (const ParameterSpec& parameter : model.parameters)
    if (!loaded || parameter.adapter) store.write(parameter.name, start_values(parameter, seed));
}

void check_rates(const TrainFlags& flags) {
  const TrainSettings& s = flags.settings;
  if (const double taken = s.learning_rate * s.weight_decay;
      taken >= 1 && flags.given.contains("--weight-decay") && s.schedule != Schedule::noam)
    throw UsageError(
        fmt::format("--weight-decay {:g} with --learning-rate {:g}: a step takes {:g} times each weight "
                    "away; take a --weight-decay below {:g}",
                    s.weight_decay, s.learning_rate, taken, 1 / s.learning_rate));
  if (s.min_learning_rate > s.learning_rate)
    throw UsageError(fmt::format("--min-learning-rate {:g} is above --learning-rate {:g}, where the schedule begins",
                                 s.min_learning_rate, s.learning_rate));
}

void check_flags(const TrainFlags& flags) {
  if (flags.out.empty() && (!flags.plan || flags.resume))
    throw UsageError("train needs --out RUN, the folder for checkpoints and metrics");
  const JobKind* kind = kind_of_flags(flags);
  if (kind != nullptr) check_options(*kind, flags.given);
  if (flags.resume) return;  // the settings are the run's, but for some
  check_rates(flags);
  if (flags.given.contains("--lora") && flags.lora.empty())
    throw UsageError("--lora is empty; write r=8 or more of it");
  if (!flags.lora.empty() && flags.from.empty()) throw UsageError("--lora needs --from FOLDER, the model to adapt");
  if (flags.lora.empty() && !flags.weights.empty()) throw UsageError("--weights is for frozen weights, with --lora");
  if (!flags.changes.empty() && !flags.from.empty())
    throw UsageError("--set is for a new model's config; --from FOLDER has one that its weights need");
  if (!flags.config.empty() && !flags.from.empty())
    throw UsageError("--from FOLDER has a config of its own; leave CONFIG out");
  if (flags.config.empty() && flags.from.empty()) throw UsageError("train needs CONFIG or --from FOLDER (or --resume)");
  if (kind == nullptr) throw UsageError(fmt::format("train needs files: {}", options_of_kinds()));
  for (const char* option : {"--bytes", "--tokenizer-kind", "--vocabulary"})
    for (const char* other : {"--from", "--tokenizer"})
      if (flags.given.contains(option) && flags.given.contains(other))
        throw UsageError(
            fmt::format("{} is for a vocabulary that is made, {} brings one; leave one out", option, other));
}

/// Where several processes train, each takes a part of an iteration's micro-batches.
void cut_gradients(TrainFlags& flags, int processes) {
  TrainSettings& s = flags.settings;
  if (!flags.resume && !flags.given.contains("--gradient-parts")) s.gradient_parts = processes;
  if (!std::has_single_bit(static_cast<uint64_t>(s.gradient_parts)))
    throw UsageError(
        fmt::format("--gradient-parts {}: parts are added in a tree of pairs; take 1, 2, 4, 8, ..", s.gradient_parts));
  if (processes > s.gradient_parts)
    throw UsageError(fmt::format(
        "{} processes for gradients in {} (--gradient-parts); start fewer, or give --gradient-parts {} with --resume, "
        "which comes to other bits",
        processes, counted(s.gradient_parts, "part"), processes));
  if (s.gradient_parts > s.accumulate)
    throw UsageError(fmt::format(
        "{} share the micro-batches of an iteration, of which there {} (--accumulate); with --accumulate {} and a "
        "smaller --batch an iteration learns from as much",
        processes > 1 ? fmt::format("{} processes", processes) : counted(s.gradient_parts, "part"),
        s.accumulate == 1 ? "is 1" : fmt::format("are {}", s.accumulate), s.gradient_parts));
}

}  // namespace

void prepare(PreparedTraining& training, ProcessGroup& group) {
  TrainFlags& flags = training.flags;
  RunState& state = training.state;
  flags.settings.products = float_type(flags.dtype);
  flags.settings.schedule = schedule_named(flags.schedule);
  if (flags.plan && (flags.common.tune || !flags.common.profile.empty()))
    throw UsageError(fmt::format("--plan computes nothing; leave out {}", flags.common.tune ? "--tune" : "--profile"));
  if (group.size() > 1 && flags.common.tune)
    throw UsageError("--tune measures while other processes use the device; run vkformer tune first, and leave it out");
  if (flags.plan && flags.files.empty() && !flags.config.empty()) return plan_config(flags);
  check_flags(flags);
  const std::filesystem::path checkpoint = checkpoint_to_resume(flags, group.leads());
  if (flags.resume) {
    state = load_state(checkpoint, flags);
    check_rates(flags);
    flags.settings.products = float_type(flags.dtype);
    flags.settings.schedule = schedule_named(flags.schedule);
  }
  cut_gradients(flags, group.size());
  flags.checkpoint_exactly |= flags.given.contains("--checkpoint-every");
  state.files = read_run_files(flags, state.files);
  std::error_code none;
  for (const RunFile& file : state.files)
    for (const char* written : {"metrics.jsonl", "loss.svg", "run.html"})
      check(flags.out.empty() ||
                !std::filesystem::equivalent(file.path, std::filesystem::path(flags.out) / written, none),
            "{} is what the run would write over; move it out of {}", file.path, flags.out);
  const JobKind& kind = kind_of_files(state.files);
  check_options(kind, flags.given);
  if (!flags.lora.empty() && (flags.average > 1 || flags.average_best > 0))
    throw UsageError("--average and --average-best do not go with --lora; --moving-average does");
  if ((flags.average > 1) + (flags.settings.moving_average > 0) + (flags.average_best > 0) > 1)
    throw UsageError("--average, --average-best and --moving-average exclude each other; this run has another one");
  TrainJob& job = training.job = kind.make(flags, state.files, checkpoint);
  const Model& model = *job.model;
  if (flags.epochs > 0)
    flags.settings.iterations =
        (flags.epochs * job.data->epoch() + flags.settings.accumulate - 1) / flags.settings.accumulate;
  check_metric(flags, kind, job);
  // Throw before anything is allocated.
  std::optional<Weights> start;
  if (!flags.lora.empty())
    start.emplace(adapt_folder(flags, *job.model, state));
  else if (flags.resume)
    Weights(model.parameters, checkpoint);
  else if (!flags.from.empty())
    start.emplace(model.parameters, resolve_model_folder(flags.from));
  flags.settings.width = width_of(model);

  training.backend = open_backend(flags.common);
  Backend* backend = training.backend.get();
  const bool talk = !flags.common.quiet && !flags.common.json;
  if (talk) print("{}; {}\n", model_text(model), job.summary);
  if (talk && flags.settings.warmup >= flags.settings.iterations)
    print("the learning rate rises until the end: --warmup {} is not less than --iterations {}\n",
          flags.settings.warmup, flags.settings.iterations);
  const auto plan_run = [&] {
    return plan_training(model, flags.settings, job.data->shapes(), *backend, job.data->validation_shapes());
  };
  TrainingPlan plan = plan_run();
  if (std::cmp_greater(plan.device_bytes(), backend->facts().memory_free)) {
    HostWeights placed = fit_device(
        *job.model, *backend, [&](const Model&) { return plan_run().device_bytes(); }, true);
    placed.read *= flags.settings.checkpoint_activations ? 3 : 2;  // forth, back, and what is computed again
    if (placed.bytes > 0) {
      say("{}", host_weights_text(placed, model, backend->facts(), "micro-batch"));
      plan = plan_run();
    }
  }
  if (flags.plan) return print_dry_run(plan, *backend, flags.common.json);
  if (flags.common.tune) {
    check_fits(plan, *backend);
    tune_missing(*backend, flags.common, [&](Tuning& tuning, const TuneObserver& observer) {
      tune_training(*backend, plan, tuning, observer);
    });
    plan = plan_run();  // other kernels, other scratch memory
  }
  const bool goes_on = !flags.resume || state.iteration < flags.settings.iterations;
  if (talk && goes_on) print_plan(plan, *backend);
  check_fits(plan, *backend);
  Trainer& trainer = training.trainer.emplace(*backend, std::move(plan), group);
  if (start) load_weights(*start, trainer.store(), flags.common.quiet);
  if (flags.resume) {
    trainer.load(checkpoint);
    if (job.read_state) job.read_state(checkpoint);
    if (talk && goes_on) print("resumed at iteration {}\n", state.iteration);
  } else {
    initialize_others(trainer.store(), model, start.has_value(), flags.settings.seed);
  }
}

void begin(PreparedTraining& training) {
  if (!training.flags.resume && training.job.begin) training.job.begin(*training.backend, *training.trainer);
}

void run(PreparedTraining& training) {
  flush_output();  // before messages of the training, where both go to one file
  TrainRun run(training.flags, training.job, *training.backend, *training.trainer, training.state);
  begin(training);  // which may take long: the folder is there, and no other process's
  run.train();
  report_profile(*training.backend, training.flags.common, training.trainer->programs());
}

void train(TrainFlags flags) {
  if (const auto link = join_processes()) return train_with_others(*link, std::move(flags));
  PreparedTraining training{.flags = std::move(flags)};
  prepare(training, ProcessGroup::alone());
  if (training.trainer) run(training);
}

}  // namespace vkformer
