#include "models/chat/tagged_calls.h"

#include "models/chat/white_space.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

using Json = nlohmann::ordered_json;

/// A value, less the line ends that the form has around each.
std::string_view without_lines(const ToolCallForm::Tags& tags, std::string_view value) {
  if (tags.key_end.ends_with('\n') && value.starts_with('\n')) value.remove_prefix(1);
  if (tags.value_end.starts_with('\n') && value.ends_with('\n')) value.remove_suffix(1);
  return value;
}

/// Whether a key's schema says that its value is text; a key without one has none.
bool is_text(const Json& tools, std::string_view name, const std::string& key) {
  for (const Json& tool : tools) {
    const Json function = tool.value("function", Json::object());
    if (function.value("name", "") != name) continue;
    const Json parameters = function.value("parameters", Json::object());
    if (!parameters.is_object()) break;
    const Json properties = parameters.value("properties", Json::object());
    if (!properties.is_object() || !properties.contains(key)) break;
    const Json& property = properties[key];
    return !property.is_object() || property.value("type", Json()) == "string";
  }
  return true;
}

Json value_of(std::string_view text, bool as_text) {
  if (!as_text) try {
      const std::string whole = fmt::format("{{\"value\": {}}}", text);
      JsonObject::parse(whole, "a value");  // which bounds how deep it is
      return Json::parse(whole)["value"];
    } catch (const Error&) {
      // A text, then.
    }
  return std::string(text);
}

enum class Found : uint8_t { yes, no, not_yet };

/// Takes `mark` off the beginning of a text, whatever white space either has; where it is not there the text stays.
Found take(std::string_view& text, std::string_view mark) {
  size_t at = 0;
  for (const char c : mark) {
    if (blanks.find(c) != blanks.npos) continue;
    at = text.find_first_not_of(blanks, at);
    if (at == text.npos) return Found::not_yet;
    if (text[at] != c) return Found::no;
    ++at;
  }
  text.remove_prefix(at);
  return Found::yes;
}

/// Takes what stands before `mark`, and the mark. Nothing where it has not come.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view mark) {
  const std::string_view bare = trimmed(mark);
  const size_t end = bare.empty() ? text.find_first_of(" \t\r\n<") : text.find(bare);
  if (end == text.npos) return std::nullopt;
  const std::string_view before = text.substr(0, end);
  text.remove_prefix(end + bare.size());
  return before;
}

}  // namespace

std::optional<ToolCallForm> tagged_call_form(std::string_view turn, std::string_view name, const Json& arguments) {
  std::vector<std::string> parts = {std::string(name)};
  for (const auto& [key, value] : arguments.items()) {
    parts.push_back(key);
    parts.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  std::vector<std::string_view> between;  // in front of each of them
  for (const std::string& part : parts) {
    const size_t at = turn.find(part);
    if (at == turn.npos) return std::nullopt;
    between.push_back(turn.substr(0, at));
    turn.remove_prefix(at + part.size());
  }
  const std::string_view begin = between[0], first_key = between[1], key_end = between[2], next_key = between[3];
  // What begins a key is the tag that both have.
  const size_t first_tag = first_key.rfind('<'), next_tag = next_key.rfind('<');
  if (first_tag == first_key.npos || next_tag == next_key.npos || key_end != between[4]) return std::nullopt;
  const std::string_view key_begin = first_key.substr(first_tag), value_end = next_key.substr(0, next_tag);
  if (key_begin != next_key.substr(next_tag) || trimmed(value_end).empty() || trimmed(key_end).empty())
    return std::nullopt;
  if (trimmed(begin).empty() || take(turn, value_end) != Found::yes || trimmed(turn).empty()) return std::nullopt;
  return ToolCallForm{.begin = std::string(trimmed(begin)),
                      .end = std::string(trimmed(turn)),
                      .tags = ToolCallForm::Tags{std::string(first_key.substr(0, first_tag)), std::string(key_begin),
                                                 std::string(key_end), std::string(value_end)}};
}

CallBody tagged_body(const ToolCallForm& form, const Json& tools, std::string_view text) {
  const ToolCallForm::Tags& tags = *form.tags;
  const CallBody not_yet{.may_come = true};
  const size_t size = text.size();
  const std::string_view mark = first_word(form.begin);
  if (const Found found = take(text, std::string_view(form.begin).substr(mark.size())); found != Found::yes)
    return {.may_come = found == Found::not_yet};
  const auto name = take_until(text, tags.name_end);
  if (!name) return not_yet;
  Json arguments = Json::object();
  while (true) {
    const Found end = take(text, form.end);
    if (end == Found::yes) break;
    const Found key_begins = take(text, tags.key_begin);
    if (key_begins != Found::yes) return {.may_come = end == Found::not_yet || key_begins == Found::not_yet};
    const auto key = take_until(text, tags.key_end);
    const auto value = key ? take_until(text, tags.value_end) : std::nullopt;
    if (!value) return not_yet;
    const std::string its_key(trimmed(*key)), its_name(trimmed(*name));
    arguments[its_key] = value_of(without_lines(tags, *value), is_text(tools, its_name, its_key));
  }
  return {.length = size - text.size(), .calls = {{std::string(trimmed(*name)), arguments.dump()}}};
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(blanks)); }

}  // namespace vkformer
