#include "models/chat/tool_calls.h"

#include <algorithm>

#include "models/chat/quoted_calls.h"
#include "models/chat/tagged_calls.h"
#include "models/chat/white_space.h"
#include "models/constraint/grammar.h"
#include "models/constraint/json_schema.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

using Json = nlohmann::ordered_json;

/// Of the call that templates are asked to write: some want nine letters.
constexpr std::string_view call_id = "call00000";

std::string_view trimmed_end(std::string_view text) { return text.substr(0, text.find_last_not_of(blanks) + 1); }

/// Bytes of the object or list that a text begins with; 0: it does not end.
size_t json_length(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else
        quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

/// A schema's own references, where it is a part of another, at `place`.
void move_references(Json& schema, const std::string& place) {
  for (auto& [key, value] : schema.items()) {
    if (key == "$ref" && value.is_string() && value.get_ref<const std::string&>().starts_with('#'))
      value = place + value.get<std::string>().substr(1);
    else if (value.is_structured())
      move_references(value, place);
  }
}

/// How much of the end of `text` `mark` begins with.
size_t overlap(std::string_view text, std::string_view mark) {
  size_t length = std::min(text.size(), mark.size());
  while (length > 0 && !mark.starts_with(text.substr(text.size() - length))) --length;
  return length;
}

/// A turn that has the name, behind it other text and then the arguments as JSON.
std::optional<ToolCallForm> named_call_form(std::string_view turn, std::string_view name, const Json& arguments) {
  const size_t at = turn.find(name), json = turn.find('{', at == turn.npos ? at : at + name.size());
  if (at == turn.npos || json == turn.npos) return std::nullopt;
  const size_t length = json_length(turn.substr(json));
  if (Json::parse(turn.substr(json, length), nullptr, false) != arguments) return std::nullopt;
  const std::string_view begin = trimmed(turn.substr(0, at)), end = trimmed(turn.substr(json + length));
  std::string_view name_end = turn.substr(at + name.size(), json - at - name.size());
  name_end = name_end.substr(0, name_end.find(call_id));  // some have one between
  if (begin.empty() || name_end.empty() || name_end.find_first_of(blanks) != name_end.npos) return std::nullopt;
  return ToolCallForm{.begin = std::string(begin), .end = std::string(end), .name_end = std::string(name_end)};
}

/// The calls that a JSON object or list is.
std::optional<std::vector<ToolCall>> calls_in(const ToolCallForm& form, std::string_view text) {
  Json json;
  try {
    const std::string whole = fmt::format("{{\"calls\": {}}}", text);
    JsonObject::parse(whole, "calls");  // which bounds how deep it is
    json = Json::parse(whole)["calls"];
  } catch (const Error&) {
    return std::nullopt;
  }
  const Json list = json.is_array() ? json : Json::array({json});
  std::vector<ToolCall> calls;
  for (const Json& call : list) {
    if (!call.is_object() || !call.contains("name") || !call["name"].is_string()) return std::nullopt;
    // Models take one key for the other.
    const std::string key = call.contains(form.arguments) ? form.arguments
                            : call.contains("arguments")  ? "arguments"
                                                          : "parameters";
    const Json arguments = call.value(key, Json::object());
    if (!arguments.is_object()) return std::nullopt;
    calls.push_back({call["name"], arguments.dump()});
  }
  return calls.empty() ? std::nullopt : std::optional(calls);
}

/// What stands behind the beginning of a call, of JSON.
CallBody json_body(const ToolCallForm& form, std::string_view text) {
  if (text[0] != '{' && text[0] != '[') return {};
  const size_t length = json_length(text);
  if (length == 0) return {.may_come = true};
  auto calls = calls_in(form, text.substr(0, length));
  return calls ? CallBody{.length = length, .calls = std::move(*calls)} : CallBody{};
}

/// The same of a name, and behind some text without white space (a mark, an id) its arguments.
CallBody named_body(const ToolCallForm& form, std::string_view text) {
  constexpr std::string_view of_names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  constexpr size_t most_between = 100;
  if (text[0] == '{' || text[0] == '[') return json_body({.arguments = "arguments"}, text);
  const size_t name = std::min(text.find_first_not_of(of_names), text.size());
  if (name == 0) return {};
  std::string_view rest = text.substr(name);
  if (!form.end.empty() && rest.starts_with(form.name_end + form.end))  // without arguments
    return {.length = name + form.name_end.size(), .calls = {{std::string(text.substr(0, name)), "{}"}}};
  const size_t json = rest.find('{'), between = std::min(json, rest.size());
  if (between > most_between || rest.substr(0, between).find_first_of(blanks) != rest.npos) return {};
  const size_t length = json == rest.npos ? 0 : json_length(rest.substr(json));
  if (length == 0) return {.may_come = true};
  auto calls = calls_in(
      {.arguments = "arguments"},
      fmt::format(R"({{"name": {}, "arguments": {}}})", Json(text.substr(0, name)).dump(), rest.substr(json, length)));
  return calls ? CallBody{.length = name + json + length, .calls = std::move(*calls)} : CallBody{};
}

}  // namespace

std::optional<ToolCallForm> find_tool_call_form(const ChatTemplate& chat, const Json& variables) {
  if (!chat.mentions("tools")) return std::nullopt;
  const std::string name = "vkformer_tool", answer = "vkformer-answer";
  const Json arguments{{"vkformer_argument", 4711}, {"vkformer_other", "vkformer-text"}};
  const Json tools = Json::array({{{"type", "function"},
                                   {"function",
                                    {{"name", name},
                                     {"description", "A tool"},
                                     {"parameters", {{"type", "object"}, {"properties", Json::object()}}}}}}});
  const auto rendered = [&](const Json& turn) {
    const Json messages = Json::array({{{"role", "user"}, {"content", "question"}}, turn});
    return chat.render({.messages = messages, .tools = tools, .variables = variables}).text;
  };
  std::string with, without;
  try {
    without = rendered({{"role", "assistant"}, {"content", answer}});
    with = rendered({{"role", "assistant"},
                     {"content", ""},
                     {"tool_calls", Json::array({{{"id", call_id},
                                                  {"type", "function"},
                                                  {"function", {{"name", name}, {"arguments", arguments}}}}})}});
  } catch (const Error&) {
    return std::nullopt;
  }
  const size_t start = without.rfind(answer);
  if (start == without.npos) return std::nullopt;
  // An answer may stand behind a blank, a call not.
  const size_t before = trimmed_end(std::string_view(without).substr(0, start)).size();
  if (with.compare(0, before, without, 0, before) != 0) return std::nullopt;
  const std::string_view behind = std::string_view(without).substr(start + answer.size());
  std::string_view turn = std::string_view(with).substr(before);
  if (!trimmed(behind).empty() && turn.ends_with(behind)) turn.remove_suffix(behind.size());

  // The outermost JSON that has the name.
  for (size_t at = turn.find_first_of("{["); at != turn.npos; at = turn.find_first_of("{[", at + 1)) {
    const size_t length = json_length(turn.substr(at));
    if (length == 0) continue;
    const Json json = Json::parse(turn.substr(at, length), nullptr, false);
    const Json& call = json.is_array() && json.size() == 1 ? json[0] : json;
    if (!call.is_object() || call.value("name", Json()) != name) continue;
    std::string key;
    for (const auto& [member, value] : call.items())
      if (value == arguments) key = member;
    if (key.empty()) return std::nullopt;
    // Line ends around it belong to the form, but for those before the answer itself.
    std::string begin(turn.substr(0, at)), end(turn.substr(at + length));
    begin.erase(0, begin.find_first_not_of(blanks));
    end.erase(end.find_last_not_of(blanks) + 1);
    return ToolCallForm{.begin = begin, .end = end, .list = json.is_array(), .arguments = key};
  }
  if (auto form = named_call_form(turn, name, arguments)) return form;
  if (auto form = quoted_call_form(turn, name, arguments)) return form;
  return tagged_call_form(turn, name, arguments);
}

ToolCallReader::Part ToolCallReader::push(std::string_view piece) {
  if (!form_) return {.text = std::string(piece), .calls = {}};
  held_ += piece;
  Part part;
  read(false, part);
  return part;
}

ToolCallReader::Part ToolCallReader::end() {
  Part part;
  if (form_) read(true, part);
  if (!any_calls_ || !trimmed(held_).empty()) part.text += held_;
  held_.clear();
  return part;
}

void ToolCallReader::read(bool ended, Part& part) {
  const std::string mark(form_->tags ? first_word(form_->begin) : trimmed(form_->begin));
  const std::string inner(form_->tags ? inner_mark(*form_) : "");
  const auto show = [&](size_t length) {
    std::string text = held_.substr(0, length);
    held_.erase(0, length);
    // Line ends between calls say nothing.
    if (any_calls_ && trimmed(text).empty()) return;
    any_text_ = any_text_ || !trimmed(text).empty();
    part.text += text;
  };
  while (!held_.empty()) {
    size_t at = mark.empty() ? held_.find_first_not_of(blanks) : held_.find(mark);
    const size_t bare = inner.empty() ? held_.npos : held_.find(inner);
    const bool opened = at <= bare;
    at = std::min(at, bare);
    if (mark.empty() && (at == held_.npos || any_text_ || (held_[at] != '{' && held_[at] != '['))) {
      // Without a mark a call is all of the answer.
      if (at == held_.npos && !ended && !any_text_) return;
      return show(held_.size());
    }
    if (at == held_.npos) {
      // The blanks before what may be a mark wait with it.
      size_t kept = ended ? 0 : std::max(overlap(held_, mark), overlap(held_, inner));
      while (!ended && kept < held_.size() && blanks.find(held_[held_.size() - 1 - kept]) != blanks.npos) ++kept;
      return show(held_.size() - kept);
    }
    const size_t inside = held_.find_first_not_of(blanks, at + (opened ? mark : inner).size());
    if (inside == held_.npos) return;
    const std::string_view behind_mark = std::string_view(held_).substr(inside);
    CallBody body = form_->tags                ? tagged_body(*form_, tools_, behind_mark, opened, ended)
                    : !form_->quote.empty()    ? quoted_body(*form_, behind_mark)
                    : !form_->name_end.empty() ? named_body(*form_, behind_mark)
                                               : json_body(*form_, behind_mark);
    if (body.calls.empty()) {
      if (body.may_come && !ended) return;
      show(mark.empty() ? held_.size() : inside);
      continue;
    }
    const std::string_view closing = form_->tags ? "" : trimmed(form_->end);
    size_t behind = inside + body.length;
    if (!closing.empty()) {
      const size_t close = held_.find_first_not_of(blanks, behind);
      const std::string_view rest = close == held_.npos ? "" : std::string_view(held_).substr(close);
      if (!ended && rest.size() < closing.size() && closing.starts_with(rest)) return;
      if (rest.starts_with(closing)) behind = close + closing.size();
    }
    // Blanks before a call say nothing.
    const size_t text = held_.find_last_not_of(blanks, at == 0 ? held_.npos : at - 1);
    if (at > 0 && text != held_.npos) {
      show(text + 1);
      behind -= text + 1;
    }
    held_.erase(0, behind);
    std::ranges::move(body.calls, std::back_inserter(part.calls));
    any_calls_ = true;
  }
}

std::string gbnf_of_tool_calls(const ToolCallForm& form, const std::vector<Tool>& tools, bool several) {
  check(!form.tags && form.name_end.empty() && form.quote.empty(),
        "the model writes calls of tools in a form that it can't be held to; take tool_choice \"auto\"");
  Json calls = Json::array();
  for (size_t i = 0; i < tools.size(); ++i) {
    Json parameters = tools[i].parameters;
    move_references(parameters, fmt::format("#/anyOf/{}/properties/{}", i, form.arguments));
    calls.push_back({{"type", "object"},
                     {"properties", {{"name", {{"const", tools[i].name}}}, {form.arguments, parameters}}},
                     {"required", Json::array({"name", form.arguments})}});
  }
  std::string gbnf = gbnf_of_schema({{"anyOf", calls}}, "the tools");
  gbnf.replace(0, std::string_view("root").size(), "call");
  const auto literal = [](const std::string& text) { return text.empty() ? "" : " " + gbnf_literal(text) + " "; };
  const std::string open = form.list ? "\"[\" " : "", close = form.list ? " \"]\"" : "";
  const std::string one =
      literal(form.begin) + open + (form.list && several ? "call (\", \" call)*" : "call") + close + literal(form.end);
  const bool repeats = several && !form.list && !form.begin.empty();
  return "root ::= " + one + (repeats ? fmt::format(" (\"\\n\" {})*", one) : "") + "\n" + gbnf;
}

}  // namespace vkformer
