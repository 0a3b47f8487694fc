#include "models/text/class_template.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/text/template_processing.h"

namespace vkformer {

namespace {

using nlohmann::json;

constexpr std::string_view classes[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"};
constexpr std::string_view fast = "Fast";

bool goes_by_settings(std::string_view name) {
  if (name.ends_with(fast)) name.remove_suffix(fast.size());
  return std::ranges::find(classes, name) != std::end(classes);
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

}  // namespace

JsonObject with_class_template(const JsonObject& tokenizer, const std::filesystem::path& folder) {
  const auto file = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(file)) return tokenizer;
  const JsonObject settings = JsonObject::load(file);
  if (!settings.has("tokenizer_class") || !settings.value()["tokenizer_class"].is_string() ||
      !goes_by_settings(settings.value()["tokenizer_class"].get<std::string>()))
    return tokenizer;
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
  json changed = tokenizer.value();
  changed["post_processor"] =
      template_processing(single, single + ' ' + second, [&](const std::string& role) { return tokens.at(role); });
  return JsonObject::make(std::move(changed), tokenizer.name());
}

}  // namespace vkformer
