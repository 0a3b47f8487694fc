// `vkformer train`: a text file becomes a language model.

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/parameters.h"
#include "models/training/training.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/checkpoint.h"
#include "tools/cli/commands.h"
#include "tools/cli/metrics.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/text_data.h"
#include "tools/cli/tune.h"

namespace vkformer {

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Settings as they are kept in a checkpoint's state.json: one table for writing and reading.
template <class Visitor>
void visit_settings(TrainFlags& f, Visitor&& visit) {
  TrainSettings& s = f.settings;
  visit("batch", s.batch);
  visit("context", s.context);
  visit("accumulate", s.accumulate);
  visit("iterations", s.iterations);
  visit("learning_rate", s.learning_rate);
  visit("min_learning_rate", s.min_learning_rate);
  visit("warmup", s.warmup);
  visit("beta1", s.beta1);
  visit("beta2", s.beta2);
  visit("epsilon", s.epsilon);
  visit("weight_decay", s.weight_decay);
  visit("clip", s.clip);
  visit("seed", s.seed);
  visit("checkpoint_activations", s.checkpoint_activations);
  visit("dtype", f.dtype);
  visit("loss_scale", s.loss_scale);
  visit("validation_fraction", f.validation_fraction);
  visit("evaluate_every", f.evaluate_every);
  visit("evaluation_batches", f.evaluation_batches);
  visit("checkpoint_every", f.checkpoint_every);
}

/// Tells one text from another; not a secret.
std::string fingerprint(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
  return fmt::format("{}-{:016x}", text.size(), hash);
}

/// What a run is at some iteration; everything a resumed run needs besides the text.
struct RunState {
  int64_t iteration = 0;
  std::string data, data_fingerprint;
};

void save_checkpoint(CheckpointWriter& writer, TrainFlags& flags, const RunState& state, const Model& model,
                     const Vocabulary& vocabulary, const Trainer& trainer) {
  if (flags.settings.products == DType::f16) flags.settings.loss_scale = trainer.loss_scale();
  writer.commit(state.iteration, [&](const std::filesystem::path& folder) {
    write_json(folder / "config.json", *model.config);
    vocabulary.save(folder);
    trainer.save(folder);
    nlohmann::json settings;
    visit_settings(flags, [&](const char* name, auto& value) { settings[name] = value; });
    write_json(folder / "state.json", {{"iteration", state.iteration},
                                       {"data", state.data},
                                       {"data_fingerprint", state.data_fingerprint},
                                       {"settings", settings}});
  });
}

/// The option that sets "learning_rate": "--learning-rate".
std::string option_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

/// Settings given on the command line stay; the others become the run's own.
RunState load_state(const std::filesystem::path& folder, TrainFlags& flags) {
  for (const char* option : {"--dropout", "--bytes", "config"})
    if (flags.given.contains(option))
      throw UsageError(fmt::format("{} can't change when a run is resumed; leave it out", option));
  const JsonObject json = JsonObject::load(folder / "state.json");
  const JsonObject settings = require_object(json, "settings");
  visit_settings(flags, [&](const char* name, auto& value) {
    using T = std::decay_t<decltype(value)>;
    if (flags.given.contains(option_of(name))) return;
    if constexpr (std::is_same_v<T, bool>)
      value = boolean_or(settings, name, false);  // runs of earlier versions don't have it
    else if constexpr (std::is_same_v<T, std::string>)
      value = string_or(settings, name, value);
    else if constexpr (std::is_floating_point_v<T>)
      value = settings.has(name) ? require_number(settings, name, -1e300, 1e300) : value;
    else
      value = static_cast<T>(require_integer(settings, name, 0, int64_t{1} << 40));
  });
  return {require_integer(json, "iteration", 0, int64_t{1} << 40), require_string(json, "data"),
          require_string(json, "data_fingerprint")};
}

/// The model's config with the vocabulary of the text (0: as the config has it) and, if asked for, another dropout.
Model configured_model(const TrainFlags& flags, int32_t vocabulary) {
  nlohmann::json config = JsonObject::load(flags.config).value();
  if (vocabulary > 0) config["vocab_size"] = vocabulary;
  Model model = make_model(JsonObject::parse(config.dump(), flags.config));
  if (flags.dropout < 0) return model;
  for (const std::string& key : model.dropout_keys) config[key] = flags.dropout;
  return make_model(JsonObject::parse(config.dump(), flags.config));
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void print_plan(const TrainingPlan& plan, const DeviceFacts& facts) {
  for (const TrainingPlan::Row& row : plan.rows) fmt::print("  {:<34} {:>10.2f} MiB\n", row.what, mebibytes(row.bytes));
  fmt::print("  {:<34} {:>10.2f} MiB, {} bytes\n", "total", mebibytes(plan.total_bytes()), plan.total_bytes());
  std::string shares;
  for (const TrainingPlan::Row& row : plan.temporaries)
    shares += fmt::format("{}{} {:.2f} MiB", shares.empty() ? "" : ", ", row.what, mebibytes(row.bytes));
  fmt::print("temporaries, in the same memory: {}; live set of the first: {:.2f} MiB\n", shares,
             mebibytes(plan.live_set_bytes));
  if (plan.saved_bytes) fmt::print("computing activations again saves {:.2f} MiB\n", mebibytes(*plan.saved_bytes));
  if (facts.memory_total > 0)
    fmt::print("needs {} MiB, {} has {} MiB free\n", (plan.total_bytes() >> 20) + 1, facts.name,
               facts.memory_free >> 20);
}

/// `--plan`: the rows, and the biggest temporaries.
void print_dry_run(const TrainingPlan& plan, const TrainFlags& flags, const DeviceFacts& facts) {
  const size_t most = std::min<size_t>(8, plan.biggest.size());
  if (flags.common.json) {
    nlohmann::json json = {{"total_bytes", plan.total_bytes()}, {"live_set_bytes", plan.live_set_bytes}};
    if (plan.saved_bytes) json["saved_bytes"] = *plan.saved_bytes;
    for (const TrainingPlan::Row& row : plan.rows) json["rows"][row.what] = row.bytes;
    for (const TrainingPlan::Row& row : plan.temporaries) json["temporaries"][row.what] = row.bytes;
    for (size_t i = 0; i < most; ++i) json["biggest"].push_back({plan.biggest[i].name, plan.biggest[i].bytes});
    fmt::print("{}\n", json.dump(1));
    return;
  }
  print_plan(plan, facts);
  fmt::print("biggest temporaries:\n");
  for (size_t i = 0; i < most; ++i)
    fmt::print("  {:<52} {:>10.2f} MiB\n", plan.biggest[i].name, mebibytes(plan.biggest[i].bytes));
}

void check_fits(const TrainingPlan& plan, const TrainFlags& flags, const DeviceFacts& facts) {
  if (facts.memory_total == 0 || static_cast<uint64_t>(plan.total_bytes()) <= facts.memory_free) return;
  std::string biggest;
  for (size_t i = 0; i < std::min<size_t>(3, plan.biggest.size()); ++i)
    biggest += fmt::format("{}{} ({} MiB)", i ? ", " : "", plan.biggest[i].name, plan.biggest[i].bytes >> 20);
  fail(
      "training needs {} MiB, {} has {} MiB free; the biggest temporaries: {}; use {}a smaller --batch (with "
      "--accumulate), --context or model",
      plan.total_bytes() >> 20, facts.name, facts.memory_free >> 20, biggest,
      flags.settings.checkpoint_activations ? "" : "--checkpoint-activations, ");
}

double validation_loss(Trainer& trainer, const TextData& text, int64_t windows) {
  const int64_t rows = trainer.settings().batch;
  double sum = 0;
  for (int64_t first = 0; first < windows; first += rows) {
    const Batch batch = text.validation_batch(first, windows, rows);
    sum += trainer.evaluate(batch.ids, batch.targets) * static_cast<double>(std::min(rows, windows - first));
  }
  return sum / static_cast<double>(windows);
}

class Run {
 public:
  Run(TrainFlags& flags, const Model& model, const Vocabulary& vocabulary, Trainer& trainer, const TextData& text,
      RunState state)
      : flags_(flags),
        model_(model),
        vocabulary_(vocabulary),
        trainer_(trainer),
        text_(text),
        state_(std::move(state)),
        writer_(flags.out),
        metrics_(flags.out, state_.iteration),
        progress_(flags.settings.iterations, flags.common.quiet) {}

  void train() {
    const TrainSettings& s = flags_.settings;
    const auto tokens = static_cast<double>(s.batch * s.context * s.accumulate);
    started_ = now();
    int64_t saved = state_.iteration;
    const int64_t first = state_.iteration;
    while (state_.iteration < s.iterations && !interrupted) {
      const int64_t i = state_.iteration + 1;
      const double begin = now();
      const Batch batch = text_.training_batch(s.seed, i, s.batch * s.accumulate);
      const double loss = trainer_.step(i, batch.ids, batch.targets);
      const double speed = tokens / (now() - begin);
      check(std::isfinite(loss) && std::isfinite(trainer_.gradient_norm()),
            "the loss is {}, its gradient's norm {} at iteration {}: the training has diverged; continue from the last "
            "checkpoint with --resume and a lower --learning-rate",
            loss, trainer_.gradient_norm(), i);
      state_.iteration = i;
      metrics_.training(i, loss, learning_rate_at(s, i), trainer_.gradient_norm(), speed);
      progress_.show(i, fmt::format("loss {:.4f}  lr {:.2e}  {:.0f} tokens/s", loss, learning_rate_at(s, i),
                                    static_cast<double>(i - first) * tokens / (now() - started_)));
      if (i % flags_.evaluate_every == 0 && i < s.iterations) report(loss, false);
      if (i % flags_.checkpoint_every == 0 && i < s.iterations) {
        save();
        saved = i;
      }
    }
    progress_.clear();
    if (saved < state_.iteration || first == 0) save();  // before the evaluation: nobody has to wait for that
    if (state_.iteration < s.iterations) {
      fmt::print(stderr, "stopped at iteration {}; continue with: vkformer train --resume --out {}\n", state_.iteration,
                 flags_.out);
    } else if (state_.iteration > first || (text_.validation_windows() > 0 && !evaluated())) {
      report(metrics_.training_losses().empty() ? NAN : metrics_.training_losses().back().loss, true);
      metrics_.flush();
    } else {
      fmt::print(stderr, "complete at iteration {}; give --iterations to go on\n", state_.iteration);
    }
  }

 private:
  /// Whether the last iteration has its evaluation: a run may have been killed between its last checkpoint and that.
  bool evaluated() const {
    const auto& losses = metrics_.validation_losses();
    return !losses.empty() && losses.back().iteration == state_.iteration;
  }

  void save() {
    metrics_.flush();
    save_checkpoint(writer_, flags_, state_, model_, vocabulary_, trainer_);
  }

  void report(double loss, bool whole_split) {
    const int64_t windows = text_.validation_windows();
    const int64_t used = whole_split ? windows : std::min(windows, flags_.evaluation_batches * flags_.settings.batch);
    nlohmann::json row = {{"iteration", state_.iteration}, {"loss", loss}};
    std::string validation;
    if (used > 0) {
      const double value = validation_loss(trainer_, text_, used);
      metrics_.validation(state_.iteration, value);
      row["validation_loss"] = value;
      validation = fmt::format("  validation loss {:.4f}{}", value, whole_split ? " (whole split)" : "");
    }
    progress_.clear();
    if (flags_.common.json)
      fmt::print("{}\n", row.dump());
    else if (!flags_.common.quiet || whole_split)
      fmt::print("iteration {:>6}  loss {:.4f}{}  {}\n", state_.iteration, loss, validation,
                 clock_text(now() - started_));
    std::fflush(stdout);
  }

  TrainFlags& flags_;
  const Model& model_;
  const Vocabulary& vocabulary_;
  Trainer& trainer_;
  const TextData& text_;
  RunState state_;
  CheckpointWriter writer_;
  Metrics metrics_;
  Progress progress_;
  double started_ = 0;
};

}  // namespace

void train(TrainFlags flags) {
  if (flags.plan && flags.data.empty() && !flags.config.empty()) {
    const Model model = configured_model(flags, flags.bytes ? Vocabulary::bytes().size() : 0);
    const auto backend = open_backend(flags.common);
    print_dry_run(plan_training(model, flags.settings, causal_batch(model, flags.settings), *backend), flags,
                  backend->facts());
    return;
  }
  if (flags.out.empty() && !flags.plan)
    throw UsageError("train needs --out RUN, the folder for checkpoints and metrics");
  std::filesystem::path checkpoint;
  RunState state;
  if (flags.resume) {
    const auto latest = latest_checkpoint(flags.out);
    check(latest.has_value(), "{} has no checkpoint to resume from; train it first without --resume", flags.out);
    checkpoint = *latest;
    const std::string data = flags.data;
    state = load_state(checkpoint, flags);
    flags.data = data.empty() ? state.data : data;
  } else {
    if (flags.config.empty() || flags.data.empty())
      throw UsageError("train needs CONFIG and --data FILE (or --resume)");
    check(flags.plan || !latest_checkpoint(flags.out).has_value(),
          "{} already holds a run; continue it with --resume or choose another --out", flags.out);
  }
  const std::string text = TextData::read(flags.data);
  check(!flags.resume || fingerprint(text) == state.data_fingerprint,
        "{} is not the text this run was trained on; give that one with --data", flags.data);
  const Vocabulary vocabulary = flags.resume  ? Vocabulary::load(checkpoint / "tokenizer.json")
                                : flags.bytes ? Vocabulary::bytes()
                                              : Vocabulary::characters(text);
  const Model model = flags.resume ? make_model(JsonObject::load(checkpoint / "config.json"))
                                   : configured_model(flags, vocabulary.size());
  if (flags.resume) Weights(model.parameters, checkpoint);  // throws before anything is allocated
  if (flags.settings.context == 0) flags.settings.context = model.context;
  check(vocabulary.size() <= model.vocabulary,
        "the tokenizer has {} tokens, the model only {}; the checkpoint is damaged", vocabulary.size(),
        model.vocabulary);
  const TextData data(vocabulary.encode(text), flags.validation_fraction, flags.settings.context);

  auto backend = open_backend(flags.common);
  const bool talk = !flags.common.quiet && !flags.common.json;
  if (talk)
    fmt::print("{}: {} layers, {} parameters, vocabulary {}; {} tokens of text\n", model.family, model.layers,
               model.parameter_count(), model.vocabulary, data.size());
  flags.settings.products = float_type(flags.dtype);
  const BatchShape shape = causal_batch(model, flags.settings);
  if (!flags.plan)
    tune_missing(*backend, flags.common, [&](Tuning& tuning, const TuneObserver& observer) {
      check_fits(plan_training(model, flags.settings, shape, *backend), flags, backend->facts());
      tune_training(*backend, model, flags.settings, shape, tuning, observer);
    });
  {
    const TrainingPlan plan = plan_training(model, flags.settings, shape, *backend);
    if (flags.plan) return print_dry_run(plan, flags, backend->facts());
    if (talk) print_plan(plan, backend->facts());
    check_fits(plan, flags, backend->facts());
  }
  Trainer trainer(*backend, model, flags.settings);
  if (flags.resume) {
    trainer.load(checkpoint);
    if (talk) fmt::print("resumed at iteration {}\n", state.iteration);
  } else {
    initialize(trainer.store(), model.parameters, flags.settings.seed);
    state = {0, std::filesystem::absolute(flags.data).string(), fingerprint(text)};
  }
  for (int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int number) {
      interrupted = 1;
      std::signal(number, SIG_DFL);  // a second Ctrl-C ends at once
    });
  Run(flags, model, vocabulary, trainer, data, state).train();
  if (!flags.common.profile.empty()) {
    for (const auto& [name, program] : trainer.programs())
      print_profile(*program, "last " + name, flags.common.json, roof_of(*backend));
    write_trace(trainer.programs(), flags.common.profile);
  }
}

}  // namespace vkformer
