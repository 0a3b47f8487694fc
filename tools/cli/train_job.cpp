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

namespace {

/// What --set says: JSON, or else a word.
std::map<std::string, nlohmann::json> changes_of(const TrainFlags& flags) {
  std::map<std::string, nlohmann::json> changes;
  for (const std::string& change : flags.changes) {
    const size_t sign = change.find('=');
    if (sign == 0 || sign == change.npos || !is_utf8(change))
      throw UsageError(fmt::format("--set {} is not KEY=VALUE, like n_layer=6", in_quotes(change)));
    const std::string text = change.substr(sign + 1);
    const auto value = nlohmann::json::parse(text, nullptr, false);
    changes[change.substr(0, sign)] = value.is_discarded() ? nlohmann::json(text) : value;
  }
  return changes;
}

}  // namespace

JsonObject first_config(const TrainFlags& flags) {
  if (!flags.from.empty()) return load_model_json(resolve_model_folder(flags.from), "config.json");
  if (std::filesystem::is_directory(flags.config) || is_gguf(flags.config))
    throw UsageError(fmt::format("{0} is a model; to go on from its weights: train --from {0}{1}",
                                 printable(flags.config, 120),
                                 is_gguf(flags.config) ? "" : "; to begin anew give the config.json in it"));
  const JsonObject config = JsonObject::load(flags.config);
  nlohmann::json changed = config.value();
  for (const auto& [key, value] : changes_of(flags)) changed[key] = value;
  return JsonObject::make(std::move(changed), config.name());
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

/// A key that says nothing is more likely misspelt than meant for others.
void check_changes(const TrainFlags& flags, const nlohmann::json& made,
                   const std::set<std::string, std::less<>>& known) {
  if (flags.changes.empty()) return;
  const nlohmann::json before = JsonObject::load(flags.config).value();
  for (const auto& [key, value] : changes_of(flags)) {
    if (made.contains(key))
      throw UsageError(fmt::format("--set {}: the files that are trained on decide it; leave it out", in_quotes(key)));
    if (known.contains(key) || before.contains(key)) continue;
    std::vector<std::string> names(known.begin(), known.end());
    const std::string meant = nearest_name(key, names);
    throw UsageError(fmt::format("--set {}: neither {} nor this family has such a key{}", in_quotes(key), flags.config,
                                 meant.empty() ? "" : fmt::format("; did you mean {}?", in_quotes(meant))));
  }
}

/// Which key of a config says how many positions there are; "": none.
std::string key_of_positions(const nlohmann::json& config) {
  for (const char* key :
       {"n_positions", "max_position_embeddings", "seq_length", "max_seq_len", "max_target_positions"})
    if (config.contains(key) && config[key].is_number_integer()) return key;
  return "";
}

}  // namespace

bool has_config(const TrainFlags& flags, const std::filesystem::path& checkpoint) {
  return !checkpoint.empty() && flags.lora.empty();
}

JsonObject config_of_job(const TrainFlags& flags, const std::filesystem::path& checkpoint) {
  return has_config(flags, checkpoint) ? load_model_json(checkpoint, "config.json") : first_config(flags);
}

Model model_of_job(const TrainFlags& flags, const std::filesystem::path& checkpoint, const nlohmann::json& changes) {
  if (has_config(flags, checkpoint)) {
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
  nlohmann::json told = nlohmann::json::object();  // by flags of their own
  if (flags.from.empty()) {
    check_changes(flags, changes, *known);
    say_what_was_meant(asked, *known);
    const std::string key = key_of_positions(*model.config);
    // RoBERTa's key counts positions that no token has.
    if (flags.context > model.context && model.context > 0 && !key.empty() && !changes_of(flags).contains(key))
      told[key] = model.config->at(key).get<int64_t>() + flags.context - model.context;
  }
  if (flags.dropout >= 0)
    for (const std::string& key : model.dropout_keys) told[key] = flags.dropout;
  if (!told.empty()) {
    config.update(told);
    model = make_model(JsonObject::parse(config.dump(), file));
  }
  if (flags.label_smoothing >= 0) model.label_smoothing = flags.label_smoothing;
  return model;
}

std::string input_text(const Model& model) {
  if (model.reads_ids()) return fmt::format("vocabulary {}", model.vocabulary);
  return fmt::format("pictures of {} x {}", model.picture.height, model.picture.width);
}

void set_context(TrainFlags& flags, const Model& model) {
  if (flags.context == 0) flags.context = model.context > 0 ? model.context : usual_positions;
  if (model.context == 0 || flags.context <= model.context) return;
  const std::string key = key_of_positions(*model.config);
  fail("--context {} is more than the model's {}{}", flags.context, model.context,
       key.empty() ? ", which its family sets" : fmt::format(", {} in its config", in_quotes(key)));
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
  const auto base = has_config(flags, checkpoint) ? checkpoint
                    : flags.from.empty()          ? std::filesystem::path()
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
