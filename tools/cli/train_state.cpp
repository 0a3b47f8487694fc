#include "tools/cli/train_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/adapters/lora.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/weight_files.h"

namespace vkformer {

namespace {

constexpr int64_t most_counted = int64_t{1} << 31;  // of what the command line takes

/// Settings as state.json has them, and the least of those that are integers: one table for writing and reading.
template <class Visitor>
void visit_settings(TrainFlags& f, Visitor&& visit) {
  TrainSettings& s = f.settings;
  visit("batch", f.batch, 1);
  visit("batch_tokens", f.batch_tokens, 1);
  visit("mask_share", f.mask_share, 0);
  visit("skip_long", f.skip_long, 0);
  visit("schedule", f.schedule, 0);
  visit("label_smoothing", f.label_smoothing, -1);
  visit("context", f.context, 1);
  visit("stride", f.stride, -1);
  visit("accumulate", s.accumulate, 1);
  visit("iterations", s.iterations, 1);
  visit("learning_rate", s.learning_rate, 0);
  visit("min_learning_rate", s.min_learning_rate, 0);
  visit("warmup", s.warmup, 0);
  visit("beta1", s.beta1, 0);
  visit("beta2", s.beta2, 0);
  visit("epsilon", s.epsilon, 0);
  visit("weight_decay", s.weight_decay, 0);
  visit("clip", s.clip, 0);
  visit("seed", s.seed, 0);
  visit("checkpoint_activations", s.checkpoint_activations, 0);
  visit("dtype", f.dtype, 0);
  visit("lora", f.lora, 0);
  visit("weights", f.weights, 0);
  visit("dropout", f.dropout, -1);
  visit("loss_scale", s.loss_scale, 0);
  visit("validation_fraction", f.validation_fraction, 0);
  visit("evaluate_every", f.evaluate_every, 1);
  visit("evaluation_batches", f.evaluation_batches, 1);
  visit("score_lines", f.score_lines, 0);
  visit("checkpoint_every", f.checkpoint_every, 1);
  visit("keep_best", f.keep_best, 0);
  visit("early_stopping", f.early_stopping, 0);
  visit("average", f.average, 1);
  visit("average_best", f.average_best, 0);
  visit("moving_average", s.moving_average, 0);
}

/// The option that sets "learning_rate": "--learning-rate".
std::string option_of(std::string name) {
  if (name == "dtype") return "--precision";
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

}  // namespace

nlohmann::json settings_of(TrainFlags& flags) {
  nlohmann::json settings;
  visit_settings(flags, [&](const char* name, auto& value, int64_t) { settings[name] = value; });
  return settings;
}

std::string base_print(const std::filesystem::path& folder) {
  if (is_gguf(folder)) return content_print(MappedFile(folder).text());
  std::string print = content_print(MappedFile(folder / "config.json").text());
  const WeightFiles weights(folder);
  for (const SafetensorsFile& file : weights.files()) print += '+' + content_print(MappedFile(file.name()).text());
  return print;
}

void write_model(const std::filesystem::path& folder, const TrainJob& job) {
  if (job.model->adapter) return job.write_text(folder);  // the config is the base model's
  nlohmann::json config = *job.model->config;
  config.update(job.ids);
  write_json(folder / "config.json", config);
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
        if (job.model->adapter)
          content["base"] = {{"path", job.model->adapter->base}, {"fingerprint", state.base_print}};
        write_json(folder / "state.json", content);
      },
      CheckpointWriter::Older::keep);
}

RunState load_state(const std::filesystem::path& checkpoint, TrainFlags& flags) {
  for (const char* option : {"--dropout", "--bytes", "--tokenizer", "--target-tokenizer", "--apart", "--tokenizer-kind",
                             "--vocabulary", "--from", "config", "--moving-average", "--lora", "--weights"})
    if (flags.given.contains(option))
      throw UsageError(fmt::format("{} can't change when a run is resumed; leave it out", option));
  const JsonObject json = JsonObject::load(checkpoint / "state.json");
  const JsonObject settings = require_object(json, "settings");
  visit_settings(flags, [&](const char* name, auto& value, int64_t least) {
    using T = std::decay_t<decltype(value)>;
    if (flags.given.contains(option_of(name))) return;
    if constexpr (std::is_same_v<T, bool>)
      value = boolean_or(settings, name, false);  // runs of earlier versions don't have it
    else if constexpr (std::is_same_v<T, std::string>)
      value = string_or(settings, name, value);
    else if constexpr (std::is_floating_point_v<T>)
      value = settings.has(name) ? require_number(settings, name, -1e300, 1e300) : value;
    else
      value = static_cast<T>(integer_or(settings, name, int64_t{value}, least,
                                        std::is_same_v<T, uint32_t> ? int64_t{UINT32_MAX} : most_counted));
  });
  RunState state{require_integer(json, "iteration", 0, most_counted), {}, {}};
  const JsonObject files = require_object(json, "files");
  for (const auto& [role, value] : files.value().items()) {
    const JsonObject file = require_object(files, role);
    state.files.push_back({role, require_string(file, "path"), require_string(file, "fingerprint")});
  }
  if (!flags.lora.empty()) {
    const JsonObject base = require_object(json, "base");
    flags.from = require_string(base, "path");
    state.base_print = require_string(base, "fingerprint");
    check(base_print(flags.from) == state.base_print, "{} is not the model this adapter was begun on", flags.from);
  }
  return state;
}

}  // namespace vkformer
