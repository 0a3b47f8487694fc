#include "models/text/class_template.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/text/languages.h"

namespace vkformer {

namespace {

using nlohmann::json;

constexpr std::string_view classes[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"};

/// Whose texts have their language, and which they have where nothing else is said.
struct LanguageClass {
  std::string_view name, usual;
  bool behind = false;
};
constexpr LanguageClass language_classes[] = {{"NllbTokenizer", "eng_Latn"},
                                              {"M2M100Tokenizer", "en"},
                                              {"MBart50Tokenizer", "en_XX"},
                                              {"MBartTokenizer", "en_XX", true}};

/// The class of a tokenizer_config.json, without "Fast".
std::string class_in(const JsonObject& settings) {
  constexpr std::string_view fast = "Fast";
  const json name = settings.value().value("tokenizer_class", json());
  std::string text = name.is_string() ? name.get<std::string>() : "";
  if (text.ends_with(fast)) text.resize(text.size() - fast.size());
  return text;
}

/// The token of a role, "bos_token": its text, or an object with it.
std::optional<TemplateToken> special_of(const JsonObject& settings, const JsonObject& tokenizer, const char* role) {
  if (!settings.has(role)) return std::nullopt;
  const json& token = settings.value()[role];
  const json text = token.is_object() ? token.value("content", json()) : token;
  if (!text.is_string()) return std::nullopt;
  for (const json& added : tokenizer.value().value("added_tokens", json::array()))
    if (added.is_object() && added.value("content", json()) == text && added.value("id", json()).is_number_unsigned())
      return TemplateToken{text.get<std::string>(), added["id"].get<uint64_t>()};
  return std::nullopt;
}

/// `tokens`: by the names that the template gives them.
JsonObject with_template(const JsonObject& tokenizer, const std::string& single, const std::string& pair,
                         const std::map<std::string, TemplateToken>& tokens) {
  json changed = tokenizer.value();
  changed["post_processor"] =
      template_processing(single, pair, [&](const std::string& role) { return tokens.at(role); });
  return JsonObject::make(std::move(changed), tokenizer.name());
}

JsonObject with_language(const JsonObject& tokenizer, const JsonObject& settings, const LanguageClass& kind) {
  const auto end = special_of(settings, tokenizer, "eos_token");
  const Languages languages(tokenizer);
  if (!end || languages.empty()) return tokenizer;
  const std::map<std::string, TemplateToken> tokens = {
      {"eos", *end}, {"language", languages.find(string_or(settings, "src_lang", std::string(kind.usual)))}};
  const bool behind = kind.behind || boolean_or(settings, "legacy_behaviour", false);
  return behind ? with_template(tokenizer, "A eos language", "A B eos language", tokens)
                : with_template(tokenizer, "language A eos", "language A B eos", tokens);
}

}  // namespace

JsonObject with_class_template(const JsonObject& tokenizer, const std::filesystem::path& folder) {
  const auto file = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(file)) return tokenizer;
  const JsonObject settings = JsonObject::load(file);
  const std::string name = class_in(settings);
  const auto* kind = std::ranges::find(language_classes, name, &LanguageClass::name);
  if (kind != std::end(language_classes)) return with_language(tokenizer, settings, *kind);
  if (std::ranges::find(classes, name) == std::end(classes)) return tokenizer;
  std::map<std::string, TemplateToken> tokens;
  std::string single = "A", second = "B:1";
  if (boolean_or(settings, "add_bos_token", true)) {
    const auto token = special_of(settings, tokenizer, "bos_token");
    if (!token) return tokenizer;
    tokens["bos"] = *token;
    single = "bos " + single;
    second = "bos:1 " + second;
  }
  if (boolean_or(settings, "add_eos_token", false)) {
    const auto token = special_of(settings, tokenizer, "eos_token");
    if (!token) return tokenizer;
    tokens["eos"] = *token;
    single += " eos";
    second += " eos:1";
  }
  return with_template(tokenizer, single, single + ' ' + second, tokens);
}

}  // namespace vkformer
