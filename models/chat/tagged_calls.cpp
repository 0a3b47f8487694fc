#include "models/chat/tagged_calls.h"

#include "models/chat/tagged_values.h"
#include "models/chat/white_space.h"

namespace vkformer {

namespace {

using Json = nlohmann::ordered_json;

/// A value, less the line ends that the form has around each.
std::string_view without_lines(const ToolCallForm::Tags& tags, std::string_view value) {
  if (tags.key_end.ends_with('\n') && value.starts_with('\n')) value.remove_prefix(1);
  if (tags.value_end.starts_with('\n') && value.ends_with('\n')) value.remove_suffix(1);
  return value;
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

/// Takes what stands before `mark`, and the mark; of one without letters what stands before white space or a tag.
Found take_until(std::string_view& text, std::string_view mark, std::string_view& before) {
  const std::string_view word = first_word(trimmed(mark));
  const size_t at = word.empty() ? text.find_first_of(" \t\r\n<") : text.find(word);
  if (at == text.npos) return Found::not_yet;
  std::string_view rest = text.substr(at);
  const Found found = take(rest, mark);
  if (found != Found::yes) return found;
  before = text.substr(0, at);
  text = rest;
  return Found::yes;
}

/// Takes the call's end, of which the first tag is enough: models leave out what follows it.
Found take_end(std::string_view& text, std::string_view end, bool ended) {
  const std::string_view first = first_word(end);
  std::string_view rest = text;
  if (const Found found = take(rest, first); found != Found::yes) return found;
  if (take(rest, end.substr(first.size())) == Found::not_yet && !ended) return Found::not_yet;
  text = rest;
  return Found::yes;
}

/// Takes a value: up to the first end of one behind which the next key begins, or the call ends. A value may have the
/// end's text in it.
Found take_value(std::string_view& text, const ToolCallForm& form, std::string_view& value) {
  const std::string_view word = trimmed(form.tags->value_end);
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    std::string_view rest = text.substr(at + word.size()), next = rest, end = rest;
    const Found key_begins = take(next, form.tags->key_begin), call_ends = take(end, first_word(form.end));
    if (key_begins == Found::yes || call_ends == Found::yes) {
      value = text.substr(0, at);
      text = rest;
      return Found::yes;
    }
    if (key_begins == Found::not_yet || call_ends == Found::not_yet) return Found::not_yet;
  }
  return Found::not_yet;
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

CallBody tagged_body(const ToolCallForm& form, const Json& tools, std::string_view text, bool opened, bool ended) {
  const ToolCallForm::Tags& tags = *form.tags;
  const auto unless = [](Found found) { return CallBody{.may_come = found == Found::not_yet}; };
  const size_t size = text.size();
  if (opened)
    if (const Found found = take(text, std::string_view(form.begin).substr(first_word(form.begin).size()));
        found != Found::yes)
      return unless(found);
  std::string_view name, key, value;
  if (const Found found = take_until(text, tags.name_end, name); found != Found::yes) return unless(found);
  name = trimmed(name);
  if (!opened && !has_tool(tools, name)) return {};
  Json arguments = Json::object();
  while (true) {
    const Found end = take_end(text, form.end, ended);
    if (end == Found::yes) break;
    const Found key_begins = take(text, tags.key_begin);
    if (key_begins != Found::yes) return {.may_come = end == Found::not_yet || key_begins == Found::not_yet};
    if (const Found found = take_until(text, tags.key_end, key); found != Found::yes) return unless(found);
    if (const Found found = take_value(text, form, value); found != Found::yes) return unless(found);
    key = trimmed(key);
    arguments[std::string(key)] = tagged_value(tools, name, key, without_lines(tags, value));
  }
  return {.length = size - text.size(), .calls = {{std::string(name), arguments.dump()}}};
}

std::string_view inner_mark(const ToolCallForm& form) {
  const size_t tag = form.begin.rfind('<');
  return tag == form.begin.npos || tag == 0 ? std::string_view() : std::string_view(form.begin).substr(tag);
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(blanks)); }

}  // namespace vkformer
