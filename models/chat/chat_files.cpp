#include "models/chat/chat_files.h"

#include "models/chat/white_space.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"

namespace vkformer {

namespace {

constexpr const char* chatml =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

std::string content_of(const std::filesystem::path& path) { return std::string(MappedFile(path).text()); }

struct FoundText {
  std::string text, name;
};

/// Of the field "chat_template" of a JSON file.
std::optional<FoundText> text_in(const JsonObject& json, std::string_view kind) {
  if (!json.has("chat_template")) return {};
  const nlohmann::json& field = json.value()["chat_template"];
  if (field.is_string()) return FoundText{field.get<std::string>(), json.name() + ", chat_template"};
  for (const std::string_view wanted : {kind, std::string_view("default")})
    for (const JsonObject& named : require_objects(json, "chat_template"))
      if (require_string(named, "name") == wanted)
        return FoundText{require_string(named, "template"), fmt::format("{}, chat_template {}", json.name(), wanted)};
  fail("{}: \"chat_template\" has none called \"default\"; give one with --template", json.name());
}

std::optional<FoundText> find_text(const std::filesystem::path& folder, std::string_view kind) {
  if (const auto path = folder / "chat_template.jinja"; std::filesystem::exists(path))
    return FoundText{content_of(path), path.generic_string()};
  for (const char* name : {"tokenizer_config.json", "chat_template.json"})
    if (has_model_json(folder, name))
      if (auto found = text_in(load_model_json(folder, name), kind)) return found;
  return {};
}

}  // namespace

std::optional<ChatTemplate> find_chat_template(const std::filesystem::path& folder, std::string_view kind) {
  const auto found = find_text(folder, kind);
  return found ? std::optional<ChatTemplate>(std::in_place, found->text, found->name) : std::nullopt;
}

std::string chat_template_text(const std::filesystem::path& folder) {
  const auto found = find_text(folder, "default");
  return found ? found->text : "";
}

ChatTemplate chat_template_named(const std::string& file_or_name) {
  if (std::filesystem::is_regular_file(file_or_name)) return {content_of(file_or_name), file_or_name};
  check(file_or_name == "chatml", "'{}' is neither a template's file nor the name of a template; there is chatml",
        file_or_name);
  return {chatml, "chatml"};
}

nlohmann::ordered_json special_token_variables(const std::filesystem::path& folder) {
  nlohmann::ordered_json tokens = nlohmann::ordered_json::object();
  for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    if (!has_model_json(folder, name)) continue;
    const JsonObject json = load_model_json(folder, name);
    for (const char* key :
         {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
      const auto field = json.value().find(key);
      if (field == json.value().end()) continue;
      // A text, or an added token with its settings.
      if (field->is_string()) tokens[key] = field->get<std::string>();
      if (field->is_object() && field->contains("content"))
        tokens[key] = require_string(require_object(json, key), "content");
    }
  }
  return tokens;
}

std::string text_behind_answers(const ChatTemplate& chat, const nlohmann::ordered_json& variables) {
  const std::string answer = "vkformer-answer";
  const auto messages = nlohmann::ordered_json::array(
      {{{"role", "user"}, {"content", "question"}}, {{"role", "assistant"}, {"content", answer}}});
  try {
    const std::string text = chat.render({.messages = messages, .variables = variables}).text;
    const size_t at = text.rfind(answer);
    return at == text.npos ? std::string() : text.substr(at + answer.size());
  } catch (const Error&) {
    return {};  // it wants another conversation; the model's own end ids remain
  }
}

std::optional<int32_t> end_of_turn(const std::string& behind_answers, const PromptText& tokenizer) {
  const std::vector<int32_t> ids = tokenizer.encode_as_it_is(jinja::strip(behind_answers, jinja::Side::left, blanks));
  return !ids.empty() && tokenizer.is_special(ids.front()) ? std::optional(ids.front()) : std::nullopt;
}

}  // namespace vkformer
