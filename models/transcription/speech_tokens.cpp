#include "models/transcription/speech_tokens.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "models/generation/generation_config.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// "de" of "<|de|>": of two or three small letters.
std::optional<std::string> code_in(std::string_view token) {
  if (token.size() < 6 || token.size() > 7 || !token.starts_with("<|") || !token.ends_with("|>")) return {};
  const std::string_view code = token.substr(2, token.size() - 4);
  if (!std::ranges::all_of(code, [](char c) { return c >= 'a' && c <= 'z'; })) return {};
  return std::string(code);
}

/// A generation_config.json's, or what the reference takes where it has none.
std::vector<CrossHead> alignment_heads_of(const JsonObject& json, const JsonObject& config) {
  const int64_t layers = require_integer(config, "decoder_layers", 1, 1024),
                count = require_integer(config, "decoder_attention_heads", 1, 1024);
  std::vector<CrossHead> heads;
  if (!json.has("alignment_heads")) {
    for (int64_t layer = layers / 2; layer < layers; ++layer)
      for (int64_t head = 0; head < count; ++head) heads.push_back({layer, head});
    return heads;
  }
  const auto below = [](const nlohmann::json& value, int64_t end) {
    return value.is_number_integer() && value >= 0 && value < end;
  };
  for (const nlohmann::json& pair : json.value()["alignment_heads"]) {
    const bool is_head = pair.is_array() && pair.size() == 2 && below(pair[0], layers) && below(pair[1], count);
    check(is_head, "{}: \"alignment_heads\" has {}, which is no layer and head of the decoder's {} x {}", json.name(),
          printable(pair.dump(), 60), layers, count);
    heads.push_back({pair[0], pair[1]});
  }
  check(!heads.empty(), "{}: \"alignment_heads\" is empty; leave it out", json.name());
  return heads;
}

}  // namespace

int32_t SpeechTokens::language(const std::string& name) const {
  check(!languages.empty(), "this model knows English alone; leave the language out");
  const auto found = languages.find(name);
  check(found != languages.end(), "the model has no language {}; it has {}", in_quotes(name),
        fmt::join(languages | std::views::keys, ", "));
  return found->second;
}

std::vector<int32_t> SpeechTokens::heading(const std::string& name, bool to_english, bool times) const {
  std::vector<int32_t> ids;
  if (!languages.empty()) {
    check(!to_english || translate, "this model's tokenizer has no <|translate|>");
    ids = {language(name), to_english ? *translate : *transcribe};
  }
  if (!times) ids.push_back(no_timestamps);
  return ids;
}

SpeechTokens speech_tokens_of(const Tokenizer& tokenizer, const std::string& name, const Model& model,
                              const JsonObject& json) {
  const auto required = [&](std::initializer_list<std::string_view> names) {
    const std::optional<int32_t> id = tokenizer.first_known(names);
    check(id.has_value(), "{}: the tokenizer has no token {}, which Whisper's have", name, *names.begin());
    return *id;
  };
  SpeechTokens tokens{.start = required({"<|startoftranscript|>"}),
                      .end = required({"<|endoftext|>"}),
                      .transcribe = tokenizer.id_of("<|transcribe|>"),
                      .translate = tokenizer.id_of("<|translate|>"),
                      .no_timestamps = required({"<|notimestamps|>"}),
                      .previous = tokenizer.id_of("<|startofprev|>"),
                      .no_speech = tokenizer.first_known({"<|nospeech|>", "<|nocaptions|>"})};
  tokens.first_time = tokens.no_timestamps + 1;  // older tokenizers have no names for these
  // OpenAI's models of English alone have one token less, and their tokenizers all languages.
  constexpr int64_t english = 51864;
  const bool many = tokens.transcribe && boolean_or(json, "is_multilingual", model.vocabulary != english);
  tokens.latest_start = integer_or(json, "max_initial_timestamp_index", tokens.latest_start, 0, 1500);
  // Its forced_decoder_ids are what is said here by language and task; draws are no rule of a transcript.
  nlohmann::json rules = nlohmann::json::object();
  for (const char* key : {"suppress_tokens", "begin_suppress_tokens"})
    if (json.has(key)) rules[key] = json.value().at(key);
  const GenerationConfig config = parse_generation_config(JsonObject::parse(rules.dump(), json.name()));
  tokens.never = config.suppress_tokens;
  // What a prompt alone says: the reference bans these whatever the file has.
  for (int32_t id = tokens.start; id < tokens.no_timestamps; ++id) tokens.never.push_back(id);
  tokens.never_first = config.begin_suppress_tokens;
  for (int32_t id = tokens.start + 1; many && id < tokens.no_timestamps; ++id)
    if (const auto token = tokenizer.token_of(id))
      if (const auto code = code_in(*token)) tokens.languages.emplace(*code, id);
  tokens.alignment_heads = alignment_heads_of(json, JsonObject::make(*model.config, "config.json"));
  check(tokens.first_time < model.vocabulary, "{}: the model has {} tokens, none for times behind {}", name,
        model.vocabulary, tokens.no_timestamps);
  return tokens;
}

SpeechTokens load_speech_tokens(const std::filesystem::path& folder, const Model& model, const Tokenizer& tokenizer) {
  constexpr const char* file = "generation_config.json";
  return speech_tokens_of(tokenizer, folder.generic_string(), model,
                          load_model_json(folder, has_model_json(folder, file) ? file : "config.json"));
}

}  // namespace vkformer
