#include "models/generation/generation_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/model_files.h"
#include "runtime/check.h"

namespace vkformer {
namespace {

using nlohmann::json;

constexpr int64_t most_tokens = INT32_MAX;

bool is_id(const json& value) {
  return value.is_number_integer() && value >= int64_t{0} && value <= int64_t{INT32_MAX};
}

/// One id or a list of them; without the negative ones, which mean none. `otherwise` only where the key is absent.
std::vector<int32_t> ids_or(const JsonObject& object, std::string_view key, std::vector<int32_t> otherwise = {}) {
  if (!object.contains(key)) return otherwise;
  const auto found = object.value().find(key);
  std::vector<int32_t> ids;
  if (found->is_array()) {
    for (const json& id : *found) {
      check(is_id(id) || (!id.is_number_unsigned() && id == -1), "{}: \"{}\" must be a token id or a list of token ids",
            object.name(), key);
      ids.push_back(id.get<int32_t>());
    }
  } else if (!found->is_null()) {
    ids.push_back(static_cast<int32_t>(require_integer(object, key, -1, INT32_MAX)));
  }
  std::erase(ids, -1);
  return ids;
}

std::optional<int32_t> id_or(const JsonObject& object, std::string_view key, std::optional<int32_t> otherwise = {}) {
  if (!object.contains(key)) return otherwise;
  const auto id = integer_or(object, key, -1, -1, INT32_MAX);
  return id < 0 ? std::nullopt : std::optional(static_cast<int32_t>(id));
}

std::vector<std::vector<int32_t>> id_lists_or(const JsonObject& object, std::string_view key) {
  if (!object.has(key)) return {};
  const json& value = *object.value().find(key);
  const auto is_list = [](const json& list) {
    return list.is_array() && !list.empty() && std::all_of(list.begin(), list.end(), is_id);
  };
  check(value.is_array() && std::all_of(value.begin(), value.end(), is_list),
        "{}: \"{}\" must be a list of lists of token ids, none of them empty", object.name(), key);
  return value.get<std::vector<std::vector<int32_t>>>();
}

EarlyStopping early_stopping_or(const JsonObject& object, std::string_view key) {
  if (!object.has(key)) return EarlyStopping::no;
  const json& value = *object.value().find(key);
  check(value.is_boolean() || value == "never", "{}: \"{}\" must be true, false or \"never\"", object.name(), key);
  if (value.is_string()) return EarlyStopping::never;
  return value.get<bool>() ? EarlyStopping::yes : EarlyStopping::no;
}

/// Keys that would change what is generated, with the value that changes nothing.
void refuse_unsupported(const JsonObject& object) {
  const std::pair<const char*, json> neutral[] = {
      {"num_beam_groups", 1},
      {"diversity_penalty", 0},
      {"penalty_alpha", 0},
      {"encoder_repetition_penalty", 1},
      {"encoder_no_repeat_ngram_size", 0},
      {"guidance_scale", 1},
      {"typical_p", 1},
      {"top_h", nullptr},
      {"epsilon_cutoff", 0},
      {"eta_cutoff", 0},
      {"constraints", nullptr},
      {"force_words_ids", nullptr},
      {"sequence_bias", nullptr},
      {"exponential_decay_length_penalty", nullptr},
      {"forced_decoder_ids", nullptr},
      {"stop_strings", nullptr},
      {"watermarking_config", nullptr},
      {"dola_layers", nullptr},
  };
  for (const auto& [key, value] : neutral) {
    if (!object.contains(key)) continue;
    const auto found = object.value().find(key);
    check(found->empty() || *found == value, "{}: \"{}\" is not supported; remove it{}", object.name(), key,
          value.is_null() ? "" : " or set it to " + value.dump());
  }
}

/// The ids that Hugging Face's configuration class has where config.json is silent.
GenerationConfig class_defaults(std::string_view model_type) {
  if (model_type == "bart")
    return {.eos_token_ids = {2}, .bos_token_id = 0, .decoder_start_token_id = 2, .forced_eos_token_ids = {2}};
  if (model_type == "marian")
    return {.eos_token_ids = {0}, .decoder_start_token_id = 58100, .forced_eos_token_ids = {0}};
  if (model_type == "mbart") return {.eos_token_ids = {2}, .bos_token_id = 0, .forced_eos_token_ids = {2}};
  if (model_type == "m2m_100") return {.eos_token_ids = {2}, .bos_token_id = 0, .decoder_start_token_id = 2};
  if (model_type == "pegasus") return {.eos_token_ids = {1}, .decoder_start_token_id = 0, .forced_eos_token_ids = {1}};
  if (model_type == "t5") return {.eos_token_ids = {1}, .decoder_start_token_id = 0};
  return {};
}

}  // namespace

void take_usual_draws(GenerationConfig& config) {
  config.do_sample = config.temperature_last = true;
  config.temperature = 0.8;
  config.top_k = 40;
  config.top_p = 0.95;
  config.min_p = 0.05;
}

GenerationSource find_generation_source(const std::filesystem::path& folder, bool own_ends) {
  constexpr const char* file = generation_file;
  if (has_model_json(folder, file)) return {load_model_json(folder, file), {}};
  if (own_ends) return {JsonObject::parse("{}", "config.json"), {}};
  JsonObject config = load_model_json(folder, "config.json");
  GenerationConfig silent = class_defaults(string_or(config, "model_type", ""));
  return {std::move(config), std::move(silent)};
}

GenerationConfig load_generation_config(const std::filesystem::path& folder) {
  GenerationSource source = find_generation_source(folder);
  return parse_generation_config(source.json, std::move(source.silent));
}

GenerationConfig parse_generation_config(const JsonObject& object, GenerationConfig c) {
  refuse_unsupported(object);
  if (object.has("max_new_tokens")) c.max_new_tokens = require_integer(object, "max_new_tokens", 1, most_tokens);
  if (object.has("max_length")) c.max_length = require_integer(object, "max_length", 1, most_tokens);
  if (object.has("min_new_tokens")) c.min_new_tokens = require_integer(object, "min_new_tokens", 0, most_tokens);
  c.min_length = integer_or(object, "min_length", c.min_length, 0, most_tokens);
  c.num_beams = integer_or(object, "num_beams", c.num_beams, 1, 1024);
  c.num_return_sequences = integer_or(object, "num_return_sequences", c.num_return_sequences, 1, 1024);
  c.length_penalty = number_or(object, "length_penalty", c.length_penalty, -100, 100);
  c.early_stopping = early_stopping_or(object, "early_stopping");
  c.eos_token_ids = ids_or(object, "eos_token_id", std::move(c.eos_token_ids));
  c.bos_token_id = id_or(object, "bos_token_id", c.bos_token_id);
  c.decoder_start_token_id = id_or(object, "decoder_start_token_id", c.decoder_start_token_id);
  c.forced_bos_token_id = id_or(object, "forced_bos_token_id");
  // BART's older name.
  if (!c.forced_bos_token_id && boolean_or(object, "force_bos_token_to_be_generated", false))
    c.forced_bos_token_id = c.bos_token_id;
  c.forced_eos_token_ids = ids_or(object, "forced_eos_token_id", std::move(c.forced_eos_token_ids));
  c.bad_words_ids = id_lists_or(object, "bad_words_ids");
  c.suppress_tokens = ids_or(object, "suppress_tokens");
  c.begin_suppress_tokens = ids_or(object, "begin_suppress_tokens");
  c.no_repeat_ngram_size = integer_or(object, "no_repeat_ngram_size", c.no_repeat_ngram_size, 0, most_tokens);
  c.repetition_penalty = number_or(object, "repetition_penalty", c.repetition_penalty, 1e-3, 1e3);
  c.renormalize_logits = boolean_or(object, "renormalize_logits", c.renormalize_logits);
  c.do_sample = boolean_or(object, "do_sample", c.do_sample);
  c.temperature = number_or(object, "temperature", c.temperature, 0, 1e3);
  // -1 says "off" in some files.
  c.top_k = std::max<int64_t>(integer_or(object, "top_k", c.top_k, -1, most_tokens), 0);
  c.top_p = number_or(object, "top_p", c.top_p, 0, 1);
  c.min_p = number_or(object, "min_p", c.min_p, 0, 1);
  return c;
}

int64_t GenerationConfig::most_new_tokens(int64_t prompt_length) const {
  if (max_new_tokens) return *max_new_tokens;
  if (!has_length()) return usual_new_tokens;
  check(*max_length > prompt_length, "the prompt has {} tokens, but max_length is {}; give max_new_tokens or raise it",
        prompt_length, *max_length);
  return *max_length - prompt_length;
}

int64_t GenerationConfig::least_new_tokens(int64_t prompt_length) const {
  return min_new_tokens.value_or(std::max<int64_t>(min_length - prompt_length, 0));
}

bool GenerationConfig::ends(int32_t token) const {
  return std::find(eos_token_ids.begin(), eos_token_ids.end(), token) != eos_token_ids.end();
}

int32_t GenerationConfig::decoder_start() const {
  const std::optional<int32_t> start = decoder_start_token_id ? decoder_start_token_id : bos_token_id;
  check(start.has_value(), "no id starts the decoder; give decoder_start_token_id in generation_config.json");
  return *start;
}

}  // namespace vkformer
