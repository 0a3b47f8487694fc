#include "models/chat/tool_calls.h"

#include <algorithm>

#include "models/chat/json_extent.h"
#include "models/chat/python_calls.h"
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
    if (!call.is_object() || !call.contains(form.name) || !call[form.name].is_string()) return std::nullopt;
    // Models take one key for the other.
    const std::string key = call.contains(form.arguments) ? form.arguments
                            : call.contains("arguments")  ? "arguments"
                                                          : "parameters";
    const Json arguments = call.value(key, Json::object());
    if (!arguments.is_object()) return std::nullopt;
    calls.push_back({call[form.name], arguments.dump()});
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
  const bool blank_between = form.name_end.find_first_of(blanks) != form.name_end.npos;
  if (blank_between && form.name_end.starts_with(rest)) return {.may_come = true};
  const size_t json = rest.find('{'), between = std::min(json, rest.size());
  if (between > most_between) return {};
  if (blank_between ? !rest.starts_with(form.name_end) : rest.substr(0, between).find_first_of(blanks) != rest.npos)
    return {};
  const size_t length = json == rest.npos ? 0 : json_length(rest.substr(json));
  if (length == 0) return {.may_come = true};
  auto calls = calls_in(
      {.arguments = "arguments"},
      fmt::format(R"({{"name": {}, "arguments": {}}})", Json(text.substr(0, name)).dump(), rest.substr(json, length)));
  return calls ? CallBody{.length = name + json + length, .calls = std::move(*calls)} : CallBody{};
}

}  // namespace

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
    if (any_calls_ && !form_->around_end.empty()) {
      const std::string_view rest = trimmed(held_);
      if (!ended && form_->around_end.starts_with(rest)) return;
      if (rest.starts_with(form_->around_end)) {
        held_.erase(0, held_.find(form_->around_end) + form_->around_end.size());
        continue;
      }
    }
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
      // What may be a mark waits, and before it the tag around all calls, each with the blanks before it.
      size_t kept = 0;
      for (const std::string_view wanted : {std::string_view(mark), std::string_view(form_->around_begin)}) {
        if (ended) break;
        const std::string_view left = std::string_view(held_).substr(0, held_.size() - kept);
        kept += std::max(overlap(left, wanted), kept == 0 ? overlap(left, inner) : 0);
        while (kept < held_.size() && blanks.find(held_[held_.size() - 1 - kept]) != blanks.npos) ++kept;
      }
      return show(held_.size() - kept);
    }
    const size_t inside = held_.find_first_not_of(blanks, at + (opened ? mark : inner).size());
    if (inside == held_.npos) return;
    const std::string_view behind_mark = std::string_view(held_).substr(inside);
    CallBody body = form_->python              ? python_body(behind_mark)
                    : form_->tags              ? tagged_body(*form_, tools_, behind_mark, opened, ended)
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
    // Blanks before a call say nothing, nor does what stands around all calls.
    std::string_view text = trimmed_end(std::string_view(held_).substr(0, at));
    if (text.ends_with(form_->around_begin))
      text = trimmed_end(text.substr(0, text.size() - form_->around_begin.size()));
    const size_t around = at - text.size(), shown = text.size();
    show(shown);
    held_.erase(0, around);
    behind -= at;
    held_.erase(0, behind);
    std::ranges::move(body.calls, std::back_inserter(part.calls));
    any_calls_ = true;
  }
}

std::string gbnf_of_tool_calls(const ToolCallForm& form, const std::vector<Tool>& tools, bool several) {
  check(!form.tags && !form.python && form.name_end.empty() && form.quote.empty(),
        "the model writes calls of tools in a form that it can't be held to; take tool_choice \"auto\"");
  Json calls = Json::array();
  for (size_t i = 0; i < tools.size(); ++i) {
    Json parameters = tools[i].parameters;
    move_references(parameters, fmt::format("#/anyOf/{}/properties/{}", i, form.arguments));
    calls.push_back({{"type", "object"},
                     {"properties", {{form.name, {{"const", tools[i].name}}}, {form.arguments, parameters}}},
                     {"required", Json::array({form.name, form.arguments})}});
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
