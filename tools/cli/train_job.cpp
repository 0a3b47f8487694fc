#include "tools/cli/train_job.h"

#include <set>

#include "models/families/registry.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/suggestions.h"

namespace vkformer {

JsonObject first_config(const TrainFlags& flags) {
  if (!flags.from.empty()) return load_model_json(resolve_model_folder(flags.from), "config.json");
  if (std::filesystem::is_directory(flags.config) || is_gguf(flags.config))
    throw UsageError(fmt::format("{0} is a model; to go on from its weights: train --from {0}{1}",
                                 printable(flags.config, 120),
                                 is_gguf(flags.config) ? "" : "; to begin anew give the config.json in it"));
  return JsonObject::load(flags.config);
}

namespace {

/// Configs of Hugging Face have many keys that say nothing here; of others the nearest one that is missing is named.
void say_what_was_meant(const JsonObject& config, const std::set<std::string, std::less<>>& known) {
  std::vector<std::string> missing;
  for (const std::string& key : known)
    if (!config.value().contains(key)) missing.push_back(key);
  for (const auto& [key, value] : config.value().items()) {
    if (known.contains(key)) continue;
    const std::string meant = nearest_name(key, missing);
    if (!meant.empty() && edit_distance(key, meant) <= 2)
      say("{}: {} says nothing to this model; did you mean \"{}\"?", config.name(), in_quotes(key), meant);
  }
}

}  // namespace

Model model_of_job(const TrainFlags& flags, const std::filesystem::path& checkpoint, const nlohmann::json& changes) {
  if (!checkpoint.empty() && flags.lora.empty()) {
    Model model = make_model(JsonObject::load(checkpoint / "config.json"));
    if (flags.label_smoothing >= 0) model.label_smoothing = flags.label_smoothing;
    return model;
  }
  const JsonObject first = first_config(flags);
  const std::string& file = first.name();
  nlohmann::json config = first.value();
  if (changes.contains("vocab_size")) config.erase("decoder_vocab_size");  // it is vocab_size unless they say otherwise
  config.update(changes);
  const auto known = std::make_shared<std::set<std::string, std::less<>>>();
  JsonObject asked = JsonObject::parse(config.dump(), file);
  asked.keep_asked(known);
  Model model = make_model(asked);
  if (flags.from.empty()) say_what_was_meant(asked, *known);
  if (flags.dropout >= 0) {
    for (const std::string& key : model.dropout_keys) config[key] = flags.dropout;
    model = make_model(JsonObject::parse(config.dump(), file));
  }
  if (flags.label_smoothing >= 0) model.label_smoothing = flags.label_smoothing;
  return model;
}

void set_context(TrainFlags& flags, const Model& model) {
  if (flags.context == 0) flags.context = model.context > 0 ? model.context : usual_positions;
  check(model.context == 0 || flags.context <= model.context,
        "--context {} is more than the model's {}; how many positions a new model has is in its config", flags.context,
        model.context);
}

TrainJob job_of_tokens(const TrainFlags& flags, const std::filesystem::path& checkpoint, const JobTokens& tokens,
                       nlohmann::json changes) {
  TrainJob job;
  if (flags.from.empty() && checkpoint.empty()) {  // other configs say what theirs are
    job.ids = tokens.ids;
    // Decoders of others begin with padding, at which M2M-100 counts no position.
    if (first_config(flags).value().value("model_type", nlohmann::json()) == "m2m_100" &&
        job.ids.contains("decoder_start_token_id"))
      job.ids["decoder_start_token_id"] = job.ids["eos_token_id"];
    changes.update(job.ids);
    changes["vocab_size"] = tokens.count;
    if (tokens.source_count > 0) {
      changes["vocab_size"] = tokens.source_count;
      changes["decoder_vocab_size"] = tokens.count;
      changes["share_encoder_decoder_embeddings"] = false;
    }
  }
  job.model = std::make_unique<Model>(model_of_job(flags, checkpoint, changes));
  job.write_text = tokens.write;
  const auto base = !checkpoint.empty()  ? checkpoint
                    : flags.from.empty() ? std::filesystem::path()
                                         : resolve_model_folder(flags.from);
  if (const auto file = base / generation_file; !base.empty() && std::filesystem::exists(file))
    job.generation = std::string(MappedFile(file).text());
  const Model& model = *job.model;
  const bool apart = tokens.source_count > 0;
  check(!apart || model.source_vocabulary > 0,
        "both sides of this {} model share one vocabulary; give it one tokenizer", model.family);
  check(apart || model.source_vocabulary == 0,
        "the sides of this {} model have a vocabulary each; name the other one's folder by --target-tokenizer",
        model.family);
  const auto fits = [](int64_t count, int64_t known) {
    check(count <= known, "the tokenizer has {} tokens, the model only {}; they don't belong together", count, known);
  };
  fits(tokens.count, model.vocabulary);
  fits(tokens.source_count, model.input_vocabulary());
  return job;
}

}  // namespace vkformer
