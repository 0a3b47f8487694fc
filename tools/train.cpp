// `vkformer train`: a text file becomes a language model.

#include <csignal>
#include <nlohmann/json.hpp>

#include "models/training.h"
#include "runtime/check.h"
#include "runtime/files/checkpoint.h"
#include "tools/commands.h"
#include "tools/metrics.h"
#include "tools/profile.h"
#include "tools/progress.h"
#include "tools/text_data.h"

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

RunState load_state(const std::filesystem::path& folder, TrainFlags& flags) {
  const JsonObject json = JsonObject::load(folder / "state.json");
  const JsonObject settings = require_object(json, "settings");
  visit_settings(flags, [&](const char* name, auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_floating_point_v<T>)
      value = require_number(settings, name, -1e300, 1e300);
    else
      value = static_cast<T>(require_integer(settings, name, 0, int64_t{1} << 40));
  });
  return {require_integer(json, "iteration", 0, int64_t{1} << 40), require_string(json, "data"),
          require_string(json, "data_fingerprint")};
}

/// The model's config with the vocabulary of the text and, if asked for, another dropout.
Model configured_model(const TrainFlags& flags, const std::filesystem::path& config_file, const Vocabulary& vocabulary) {
  nlohmann::json config = JsonObject::load(config_file).value();
  config["vocab_size"] = vocabulary.size();
  if (flags.dropout >= 0)
    for (const char* key : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) config[key] = flags.dropout;
  return make_model(JsonObject::parse(config.dump(), config_file.string()));
}

void print_plan(const TrainingPlan& plan, const DeviceFacts& facts) {
  for (const TrainingPlan::Row& row : plan.rows)
    fmt::print("  {:<34} {:>10.2f} MiB\n", row.what, static_cast<double>(row.bytes) / (1 << 20));
  fmt::print("  {:<34} {:>10.2f} MiB, {} bytes (temporaries' live set: {:.2f} MiB)\n", "total",
             static_cast<double>(plan.total_bytes()) / (1 << 20), plan.total_bytes(),
             static_cast<double>(plan.live_set_bytes) / (1 << 20));
  fmt::print("needs {} MiB, {} has {} MiB free\n", (plan.total_bytes() >> 20) + 1, facts.name, facts.memory_free >> 20);
}

void print_biggest(const TrainingPlan& plan) {
  fmt::print("biggest temporaries:\n");
  for (size_t i = 0; i < std::min<size_t>(8, plan.biggest.size()); ++i)
    fmt::print("  {:<52} {:>10.2f} MiB\n", plan.biggest[i].name,
               static_cast<double>(plan.biggest[i].bytes) / (1 << 20));
}

void check_fits(const TrainingPlan& plan, const DeviceFacts& facts) {
  if (facts.memory_total == 0 || static_cast<uint64_t>(plan.total_bytes()) <= facts.memory_free) return;
  std::string biggest;
  for (size_t i = 0; i < std::min<size_t>(3, plan.biggest.size()); ++i)
    biggest += fmt::format("{}{} ({} MiB)", i ? ", " : "", plan.biggest[i].name, plan.biggest[i].bytes >> 20);
  fail("training needs {} MiB, {} has {} MiB free; the biggest temporaries: {}; use a smaller --batch (with "
       "--accumulate), --context or model",
       plan.total_bytes() >> 20, facts.name, facts.memory_free >> 20, biggest);
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
      : flags_(flags), model_(model), vocabulary_(vocabulary), trainer_(trainer), text_(text), state_(std::move(state)),
        writer_(flags.out), metrics_(flags.out, state_.iteration),
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
      check(std::isfinite(loss),
            "the loss is {} at iteration {}; lower --learning-rate, the run continues from its last checkpoint", loss, i);
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
    if (state_.iteration > first) report(metrics_.training_losses().back().loss, state_.iteration == s.iterations);
    progress_.clear();
    if (saved < state_.iteration || first == 0) save();
    if (interrupted)
      fmt::print("stopped at iteration {}; continue with: vkformer train --resume --out {}\n", state_.iteration,
                 flags_.out);
  }

 private:
  void save() {
    metrics_.flush();
    save_checkpoint(writer_, flags_, state_, model_, vocabulary_, trainer_);
  }

  void report(double loss, bool whole_split) {
    const int64_t windows = text_.validation_windows();
    const int64_t used =
        whole_split ? windows : std::min(windows, flags_.evaluation_batches * flags_.settings.batch);
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
    const Model model = make_model(JsonObject::load(flags.config));  // with the vocabulary that the config names
    const auto backend = open_backend(flags.common);
    const TrainingPlan plan = plan_training(model, flags.settings, *backend);
    print_plan(plan, backend->facts());
    print_biggest(plan);
    return;
  }
  if (flags.out.empty() && !flags.plan) throw UsageError("train needs --out RUN, the folder for checkpoints and metrics");
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
    if (flags.config.empty() || flags.data.empty()) throw UsageError("train needs CONFIG and --data FILE (or --resume)");
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
                                   : configured_model(flags, flags.config, vocabulary);
  if (flags.settings.context == 0) flags.settings.context = model.context;
  check(vocabulary.size() <= model.vocabulary, "{} has {} tokens, the model only {}", "the tokenizer", vocabulary.size(),
        model.vocabulary);
  const TextData data(vocabulary.encode(text), flags.validation_fraction, flags.settings.context);

  auto backend = open_backend(flags.common);
  const bool talk = !flags.common.quiet && !flags.common.json;
  if (talk)
    fmt::print("{}: {} layers, {} parameters, vocabulary {}; {} tokens of text\n", model.family, model.layers,
               model.parameter_count(), model.vocabulary, text.size());
  {
    const TrainingPlan plan = plan_training(model, flags.settings, *backend);
    if (talk || flags.plan) print_plan(plan, backend->facts());
    if (flags.plan) return print_biggest(plan);
    check_fits(plan, backend->facts());
  }
  Trainer trainer(*backend, model, flags.settings);
  if (flags.resume) {
    trainer.load(checkpoint);
    if (talk) fmt::print("resumed at iteration {}\n", state.iteration);
  } else {
    initialize(trainer.store(), model.parameters, flags.settings.seed);
    state = {0, std::filesystem::absolute(flags.data).string(), fingerprint(text)};
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  Run(flags, model, vocabulary, trainer, data, state).train();
  if (!flags.common.profile.empty()) {
    print_profile(trainer.main_program(), "last training step");
    write_trace(trainer.main_program(), flags.common.profile);
  }
}

}  // namespace vkformer
