#include "models/text/class_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace vkformer {

namespace {

using nlohmann::json;

constexpr std::string_view classes[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer"};
constexpr std::string_view fast = "Fast";

bool goes_by_settings(std::string_view name) {
  if (name.ends_with(fast)) name.remove_suffix(fast.size());
  return std::ranges::find(classes, name) != std::end(classes);
}

struct Special {
  std::string text;
  json id;
};

/// The token of a role, "bos_token": its text, or an object with it.
std::optional<Special> special_of(const JsonObject& settings, const JsonObject& tokenizer, const char* role) {
  if (!settings.has(role)) return std::nullopt;
  const json& token = settings.value()[role];
  const json text = token.is_object() ? token.value("content", json()) : token;
  if (!text.is_string()) return std::nullopt;
  for (const json& added : tokenizer.value().value("added_tokens", json::array()))
    if (added.is_object() && added.value("content", json()) == text && added.contains("id"))
      return Special{text.get<std::string>(), added["id"]};
  return std::nullopt;
}

/// TemplateProcessing of up to one token before and one behind each text.
json surrounding(const std::optional<Special>& before, const std::optional<Special>& behind) {
  json tokens = json::object();
  const auto piece = [&](const std::optional<Special>& special, int type, json& list) {
    if (!special) return;
    list.push_back({{"SpecialToken", {{"id", special->text}, {"type_id", type}}}});
    tokens[special->text] = {{"id", special->text}, {"ids", {special->id}}, {"tokens", {special->text}}};
  };
  json single = json::array(), pair = json::array();
  for (const auto& [list, text, type] : {std::tuple(&single, "A", 0), {&pair, "A", 0}, {&pair, "B", 1}}) {
    piece(before, type, *list);
    list->push_back({{"Sequence", {{"id", text}, {"type_id", type}}}});
    piece(behind, type, *list);
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

}  // namespace

JsonObject with_class_template(const JsonObject& tokenizer, const std::filesystem::path& folder) {
  const auto file = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(file)) return tokenizer;
  const JsonObject settings = JsonObject::load(file);
  if (!settings.has("tokenizer_class") || !settings.value()["tokenizer_class"].is_string() ||
      !goes_by_settings(settings.value()["tokenizer_class"].get<std::string>()))
    return tokenizer;
  std::optional<Special> before, behind;
  if (boolean_or(settings, "add_bos_token", true)) {
    before = special_of(settings, tokenizer, "bos_token");
    if (!before) return tokenizer;
  }
  if (boolean_or(settings, "add_eos_token", false)) {
    behind = special_of(settings, tokenizer, "eos_token");
    if (!behind) return tokenizer;
  }
  json changed = tokenizer.value();
  changed["post_processor"] = surrounding(before, behind);
  return JsonObject::make(std::move(changed), tokenizer.name());
}

}  // namespace vkformer
