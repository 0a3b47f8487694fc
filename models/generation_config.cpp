#include "models/generation_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"

namespace vkformer {
namespace {

using nlohmann::json;

constexpr int64_t most_tokens = INT32_MAX;

bool is_id(const json& value) {
  return value.is_number_integer() && value >= int64_t{0} && value <= int64_t{INT32_MAX};
}

std::optional<int32_t> id_or(const JsonObject& object, std::string_view key, std::optional<int32_t> otherwise) {
  if (!object.has(key)) return otherwise;
  return static_cast<int32_t>(require_integer(object, key, 0, INT32_MAX));
}

/// One id or a list of them.
std::vector<int32_t> ids_or(const JsonObject& object, std::string_view key, std::vector<int32_t> otherwise) {
  if (!object.has(key)) return otherwise;
  const json& value = *object.value().find(key);
  if (!value.is_array()) return {static_cast<int32_t>(require_integer(object, key, 0, INT32_MAX))};
  check(std::all_of(value.begin(), value.end(), is_id), "{}: \"{}\" must be a token id or a list of token ids",
        object.name(), key);
  return value.get<std::vector<int32_t>>();
}

std::vector<std::vector<int32_t>> id_lists_or(const JsonObject& object, std::string_view key,
                                              std::vector<std::vector<int32_t>> otherwise) {
  if (!object.has(key)) return otherwise;
  const json& value = *object.value().find(key);
  const auto is_list = [](const json& list) {
    return list.is_array() && !list.empty() && std::all_of(list.begin(), list.end(), is_id);
  };
  check(value.is_array() && std::all_of(value.begin(), value.end(), is_list),
        "{}: \"{}\" must be a list of lists of token ids, none of them empty", object.name(), key);
  return value.get<std::vector<std::vector<int32_t>>>();
}

EarlyStopping early_stopping_or(const JsonObject& object, std::string_view key, EarlyStopping otherwise) {
  if (!object.has(key)) return otherwise;
  const json& value = *object.value().find(key);
  check(value.is_boolean() || value == "never", "{}: \"{}\" must be true, false or \"never\"", object.name(), key);
  if (value.is_string()) return EarlyStopping::never;
  return value.get<bool>() ? EarlyStopping::yes : EarlyStopping::no;
}

}  // namespace

GenerationConfig load_generation_config(const std::filesystem::path& folder, GenerationConfig defaults) {
  const auto file = folder / "generation_config.json";
  return parse_generation_config(JsonObject::load(std::filesystem::exists(file) ? file : folder / "config.json"),
                                 std::move(defaults));
}

GenerationConfig parse_generation_config(const JsonObject& json, GenerationConfig defaults) {
  GenerationConfig c = std::move(defaults);
  if (json.has("max_new_tokens")) c.max_new_tokens = require_integer(json, "max_new_tokens", 1, most_tokens);
  c.max_length = integer_or(json, "max_length", c.max_length, 1, most_tokens);
  if (json.has("min_new_tokens")) c.min_new_tokens = require_integer(json, "min_new_tokens", 0, most_tokens);
  c.min_length = integer_or(json, "min_length", c.min_length, 0, most_tokens);
  c.num_beams = integer_or(json, "num_beams", c.num_beams, 1, 1024);
  c.num_return_sequences = integer_or(json, "num_return_sequences", c.num_return_sequences, 1, 1024);
  c.length_penalty = number_or(json, "length_penalty", c.length_penalty, -100, 100);
  c.early_stopping = early_stopping_or(json, "early_stopping", c.early_stopping);
  c.eos_token_ids = ids_or(json, "eos_token_id", std::move(c.eos_token_ids));
  // Some old folders say -1 for "no padding".
  if (json.has("pad_token_id") && require_integer(json, "pad_token_id", -1, INT32_MAX) >= 0)
    c.pad_token_id = id_or(json, "pad_token_id", {});
  c.bos_token_id = id_or(json, "bos_token_id", c.bos_token_id);
  c.decoder_start_token_id = id_or(json, "decoder_start_token_id", c.decoder_start_token_id);
  c.forced_bos_token_id = id_or(json, "forced_bos_token_id", c.forced_bos_token_id);
  c.forced_eos_token_ids = ids_or(json, "forced_eos_token_id", std::move(c.forced_eos_token_ids));
  c.bad_words_ids = id_lists_or(json, "bad_words_ids", std::move(c.bad_words_ids));
  c.no_repeat_ngram_size = integer_or(json, "no_repeat_ngram_size", c.no_repeat_ngram_size, 0, most_tokens);
  c.repetition_penalty = number_or(json, "repetition_penalty", c.repetition_penalty, 1e-3, 1e3);
  c.do_sample = boolean_or(json, "do_sample", c.do_sample);
  c.temperature = number_or(json, "temperature", c.temperature, 0, 1e3);
  c.top_k = integer_or(json, "top_k", c.top_k, 0, most_tokens);
  c.top_p = number_or(json, "top_p", c.top_p, 0, 1);
  return c;
}

int64_t GenerationConfig::most_new_tokens(int64_t prompt_length) const {
  if (max_new_tokens) return *max_new_tokens;
  if (max_length == GenerationConfig().max_length) return max_length;
  check(max_length > prompt_length, "the prompt has {} tokens, but max_length is {}; give max_new_tokens or raise it",
        prompt_length, max_length);
  return max_length - prompt_length;
}

int64_t GenerationConfig::least_new_tokens(int64_t prompt_length) const {
  return min_new_tokens.value_or(std::max<int64_t>(min_length - prompt_length, 0));
}

bool GenerationConfig::ends(int32_t token) const {
  return std::find(eos_token_ids.begin(), eos_token_ids.end(), token) != eos_token_ids.end();
}

int32_t GenerationConfig::padding() const {
  return pad_token_id.value_or(eos_token_ids.empty() ? 0 : eos_token_ids.front());
}

int32_t GenerationConfig::decoder_start() const {
  const std::optional<int32_t> start = decoder_start_token_id ? decoder_start_token_id : bos_token_id;
  check(start.has_value(), "no id starts the decoder; give decoder_start_token_id in generation_config.json");
  return *start;
}

}  // namespace vkformer
