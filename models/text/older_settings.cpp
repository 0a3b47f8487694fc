#include "models/text/older_settings.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;

/// Ids of added tokens; larger ones are damage.
constexpr int64_t largest_id = int64_t{1} << 24;

constexpr const char* role_names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                      "pad_token", "cls_token", "mask_token"};

JsonObject file_or_empty(const std::filesystem::path& file) {
  return std::filesystem::exists(file) ? JsonObject::load(file)
                                       : JsonObject::make(json::object(), file.generic_string());
}

/// A text, or an object as transformers writes an AddedToken. `special`: unless it says so itself.
OlderToken read_token(const JsonObject& file, std::string_view key, const json& value, bool special = true) {
  OlderToken token{.special = special};
  const bool object = value.is_object() && value.contains("content") && value["content"].is_string();
  check(value.is_string() || object, "{}: {} must be a token or {{\"content\": token, ...}}, not {}", file.name(), key,
        printable(value.dump(), 80));
  token.content = value.is_string() ? value.get<std::string>() : value["content"].get<std::string>();
  token.bare = !object;
  if (token.bare) return token;
  const JsonObject fields = JsonObject::make(value, fmt::format("{}, {}", file.name(), key));
  token.lstrip = boolean_or(fields, "lstrip", false);
  token.rstrip = boolean_or(fields, "rstrip", false);
  token.single_word = boolean_or(fields, "single_word", false);
  token.special = boolean_or(fields, "special", special);
  if (fields.has("normalized")) token.normalized = require_boolean(fields, "normalized");
  return token;
}

int64_t read_id(const JsonObject& file, const std::string& token, const json& id) {
  check(id.is_number_unsigned() && id.get<uint64_t>() <= uint64_t{largest_id},
        "{}: the id of {} is {}, not a number from 0 to {}", file.name(), in_quotes(token), printable(id.dump(), 40),
        largest_id);
  return id.get<int64_t>();
}

int64_t id_of_key(const JsonObject& file, const std::string& key) {
  const bool digits =
      !key.empty() && key.size() <= 8 && std::ranges::all_of(key, [](unsigned char c) { return std::isdigit(c); });
  check(digits && std::stoll(key) <= largest_id, "{}: added_tokens_decoder has the id {}, not one from 0 to {}",
        file.name(), in_quotes(key), largest_id);
  return std::stoll(key);
}

struct TypeAndClass {
  std::string_view type, tokenizer;
};
/// By config.json's model_type.
constexpr TypeAndClass classes_of_models[] = {{"bert", "BertTokenizer"},
                                              {"distilbert", "DistilBertTokenizer"},
                                              {"electra", "ElectraTokenizer"},
                                              {"roberta", "RobertaTokenizer"},
                                              {"bart", "BartTokenizer"},
                                              {"gpt2", "GPT2Tokenizer"},
                                              {"granite", "GPT2Tokenizer"},
                                              {"opt", "GPT2Tokenizer"},
                                              {"gpt_neo", "GPT2Tokenizer"},
                                              {"gptj", "GPT2Tokenizer"},
                                              {"starcoder2", "GPT2Tokenizer"},
                                              {"phi", "CodeGenTokenizer"},
                                              {"t5", "T5Tokenizer"},
                                              {"mt5", "T5Tokenizer"},
                                              {"xlm-roberta", "XLMRobertaTokenizer"},
                                              {"camembert", "CamembertTokenizer"},
                                              {"deberta-v2", "DebertaV2Tokenizer"},
                                              {"xlnet", "XLNetTokenizer"},
                                              {"llama", "LlamaTokenizer"},
                                              {"mistral", "LlamaTokenizer"},
                                              {"mixtral", "LlamaTokenizer"},
                                              {"phi3", "LlamaTokenizer"},
                                              {"marian", "MarianTokenizer"},
                                              {"mbart", "MBartTokenizer"},
                                              {"m2m_100", "M2M100Tokenizer"},
                                              {"pegasus", "PegasusTokenizer"}};

}  // namespace

OlderSettings::OlderSettings(const std::filesystem::path& folder)
    : name_(printable(folder.generic_string())), config_(file_or_empty(folder / "tokenizer_config.json")) {
  read_special_tokens(config_);
  // Where the added tokens stand in tokenizer_config.json, all that special_tokens_map.json says does, too.
  if (!config_.has("added_tokens_decoder")) read_special_tokens(file_or_empty(folder / "special_tokens_map.json"));
  read_added_tokens(folder);
  read_class(folder);
}

void OlderSettings::read_special_tokens(const JsonObject& from) {
  for (const char* role : role_names) {
    const auto value = from.value().find(role);
    if (value == from.value().end()) continue;
    special_[role] = value->is_null() ? std::nullopt : std::optional(read_token(from, role, *value));
  }
  constexpr const char* more = "additional_special_tokens";
  if (!from.has(more)) return;
  const json& list = from.value()[more];
  check(list.is_array(), "{}: {} must be a list [...]", from.name(), more);
  additional_.clear();
  for (const json& value : list) additional_.push_back(read_token(from, more, value));
}

void OlderSettings::read_added_tokens(const std::filesystem::path& folder) {
  if (config_.has("added_tokens_decoder")) {
    const JsonObject tokens = require_object(config_, "added_tokens_decoder");
    for (const auto& [id, value] : tokens.value().items())
      added_[id_of_key(config_, id)] = read_token(tokens, id, value, false);
    // How they are sought stands here alone.
    const auto take_over = [&](OlderToken& token) {
      for (const auto& [id, added] : added_)
        if (added.content == token.content) {
          token = added;
          token.special = true;
          token.bare = false;
        }
    };
    for (auto& [role, token] : special_)
      if (token) take_over(*token);
    for (OlderToken& token : additional_) take_over(token);
    return;
  }
  const JsonObject tokens = file_or_empty(folder / "added_tokens.json");
  for (const auto& [content, id] : tokens.value().items()) {
    OlderToken token{.content = content, .special = false};
    for (const auto& [role, known] : special_) token.special = token.special || (known && known->content == content);
    for (const OlderToken& known : additional_) token.special = token.special || known.content == content;
    added_[read_id(tokens, content, id)] = token;
  }
}

void OlderSettings::read_class(const std::filesystem::path& folder) {
  const JsonObject model = file_or_empty(folder / "config.json");
  class_ = string_or(config_, "tokenizer_class", "");
  if (class_.empty()) class_ = string_or(model, "tokenizer_class", "");
  if (class_.ends_with("Fast")) class_.resize(class_.size() - 4);
  // Names no kind of tokenizer.
  if (class_ == "PreTrainedTokenizer") class_.clear();
  const std::string type = class_.empty() ? string_or(model, "model_type", "") : "";
  const auto* known = std::ranges::find(classes_of_models, type, &TypeAndClass::type);
  if (known != std::end(classes_of_models)) class_ = known->tokenizer;
}

std::optional<bool> OlderSettings::flag(std::string_view key) const {
  return config_.has(key) ? std::optional(require_boolean(config_, key)) : std::nullopt;
}

int64_t OlderSettings::integer(std::string_view key, int64_t otherwise, int64_t max) const {
  return integer_or(config_, key, otherwise, 0, max);
}

std::map<std::string, OlderToken> OlderSettings::roles(const std::vector<OlderRole>& of_class) const {
  std::map<std::string, OlderToken> roles(of_class.begin(), of_class.end());
  for (const auto& [role, token] : special_) {
    if (!token) {
      roles.erase(role);
    } else if (token->bare && roles.contains(role)) {
      roles[role].content = token->content;
    } else {
      roles[role] = *token;
    }
  }
  return roles;
}

}  // namespace vkformer
