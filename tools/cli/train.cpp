// `vkformer train`: a text file becomes a language model.

#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/train_plan.h"
#include "tools/cli/train_run.h"
#include "tools/cli/tune.h"

namespace vkformer {

namespace {

/// The model's config with the vocabulary of the text (0: as the config has it) and, if asked for, another dropout.
Model configured_model(const TrainFlags& flags, int32_t vocabulary) {
  nlohmann::json config = JsonObject::load(flags.config).value();
  if (vocabulary > 0) config["vocab_size"] = vocabulary;
  Model model = make_model(JsonObject::parse(config.dump(), flags.config));
  if (flags.dropout < 0) return model;
  for (const std::string& key : model.dropout_keys) config[key] = flags.dropout;
  return make_model(JsonObject::parse(config.dump(), flags.config));
}

/// The folder of the checkpoint to go on from; empty for a new run.
std::filesystem::path checkpoint_to_resume(const TrainFlags& flags) {
  const auto latest = flags.out.empty() ? std::nullopt : latest_checkpoint(flags.out);
  check(flags.resume || flags.plan || !latest,
        "{} already holds a run; continue it with --resume or choose another --out", flags.out);
  check(!flags.resume || latest, "{} has no checkpoint to resume from; train it first without --resume", flags.out);
  return flags.resume ? *latest : std::filesystem::path();
}

TrainingPlan plan_run(const TrainFlags& flags, const Model& model, const Backend& backend) {
  return plan_training(model, flags.settings, {causal_batch(model, flags.batch, flags.context)}, backend);
}

/// `--plan` without a text: the vocabulary is the config's.
void plan_config(const TrainFlags& flags) {
  const Model model = configured_model(flags, flags.bytes ? Vocabulary::bytes().size() : 0);
  const auto backend = open_backend(flags.common);
  print_dry_run(plan_run(flags, model, *backend), *backend, flags.common.json);
}

}  // namespace

void train(TrainFlags flags) {
  flags.settings.products = float_type(flags.dtype);
  if (flags.plan && flags.data.empty() && !flags.config.empty()) return plan_config(flags);
  if (flags.out.empty() && !flags.plan)
    throw UsageError("train needs --out RUN, the folder for checkpoints and metrics");
  if (!flags.resume && (flags.config.empty() || flags.data.empty()))
    throw UsageError("train needs CONFIG and --data FILE (or --resume)");
  const std::filesystem::path checkpoint = checkpoint_to_resume(flags);
  RunState state;
  if (flags.resume) {
    state = load_state(checkpoint, flags);
    flags.settings.products = float_type(flags.dtype);
    if (flags.data.empty()) flags.data = state.data;
  }
  const std::string text = TextData::read(flags.data);
  check(!flags.resume || fingerprint(text) == state.fingerprint,
        "{} is not the text this run was trained on; give that one with --data", flags.data);
  const Vocabulary vocabulary = flags.resume  ? Vocabulary::load(checkpoint / "tokenizer.json")
                                : flags.bytes ? Vocabulary::bytes()
                                              : Vocabulary::characters(text);
  const Model model = flags.resume ? make_model(JsonObject::load(checkpoint / "config.json"))
                                   : configured_model(flags, vocabulary.size());
  if (flags.resume) Weights(model.parameters, checkpoint);  // throws before anything is allocated
  if (flags.context == 0) flags.context = model.context;
  check(vocabulary.size() <= model.vocabulary,
        "the tokenizer has {} tokens, the model only {}; the checkpoint is damaged", vocabulary.size(),
        model.vocabulary);
  const TextData data(vocabulary.encode(text), flags.validation_fraction, flags.context);

  auto backend = open_backend(flags.common);
  const bool talk = !flags.common.quiet && !flags.common.json;
  if (talk)
    print("{}: {} layers, {} parameters, vocabulary {}; {} tokens of text\n", model.family, model.layers,
          model.parameter_count(), model.vocabulary, data.size());
  TrainingPlan plan = plan_run(flags, model, *backend);
  if (flags.plan) return print_dry_run(plan, *backend, flags.common.json);
  if (flags.common.tune) {
    check_fits(plan, backend->facts());
    tune_missing(*backend, flags.common, [&](Tuning& tuning, const TuneObserver& observer) {
      tune_training(*backend, plan, tuning, observer);
    });
    plan = plan_run(flags, model, *backend);  // other kernels, other scratch memory
  }
  if (talk) print_plan(plan, *backend);
  check_fits(plan, backend->facts());
  Trainer trainer(*backend, std::move(plan));
  if (flags.resume) {
    trainer.load(checkpoint);
    if (talk) print("resumed at iteration {}\n", state.iteration);
  } else {
    initialize(trainer.store(), model.parameters, flags.settings.seed);
    state = {0, std::filesystem::absolute(flags.data).string(), fingerprint(text)};
  }
  TrainRun(flags, model, vocabulary, trainer, data, state).train();
  if (!flags.common.profile.empty()) {
    for (const auto& [name, program] : trainer.programs())
      print_profile(*program, "last " + name, flags.common.json, roof_of(*backend));
    write_trace(trainer.programs(), flags.common.profile);
  }
}

}  // namespace vkformer
