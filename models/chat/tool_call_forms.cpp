// How a model calls tools, by what its template makes of such calls.

#include <algorithm>
#include <numeric>

#include "models/chat/json_extent.h"
#include "models/chat/python_calls.h"
#include "models/chat/quoted_calls.h"
#include "models/chat/tagged_calls.h"
#include "models/chat/tool_calls.h"
#include "models/chat/white_space.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

using Json = nlohmann::ordered_json;

/// Of the calls that templates are asked to write: some want nine letters.
constexpr std::string_view call_id = "call00000", next_id = "call00001";
constexpr std::string_view name = "vkformer_tool", next_name = "vkformer_next";

/// A text as tags, <..> and [..] without blanks in them, and the characters between.
std::vector<std::string_view> tags_of(std::string_view text) {
  std::vector<std::string_view> tags;
  for (size_t at = 0; at < text.size();) {
    const char close = text[at] == '<' ? '>' : ']';
    const size_t end = text[at] == '<' || text[at] == '[' ? text.find(close, at) : text.npos;
    const bool tag = end != text.npos && text.substr(at, end - at).find_first_of(blanks) == text.npos;
    tags.push_back(text.substr(at, tag ? end + 1 - at : 1));
    at += tags.back().size();
  }
  return tags;
}

std::string last_tag(std::string_view text) {
  const auto tags = tags_of(trimmed(text));
  return tags.empty() || tags.back().size() == 1 ? std::string() : std::string(tags.back());
}
std::string first_tag(std::string_view text) {
  const auto tags = tags_of(trimmed(text));
  return tags.empty() || tags.front().size() == 1 ? std::string() : std::string(tags.front());
}

/// What a template makes of an assistant's message that is a call.
struct Turn {
  std::string_view text;      ///< without what ends every answer
  std::string_view with_two;  ///< the same of two calls; "": not known
  bool begins = true;         ///< as every answer does; otherwise other tags, of thoughts, may stand before the call
};

/// What stands between the two calls, of which the first one's name and arguments are at [begin, end) of the turn.
std::string_view between_calls(const Turn& turn, size_t begin, size_t end) {
  if (!turn.with_two.starts_with(turn.text.substr(0, end))) return {};
  const size_t lead = turn.text.find(name, begin) - begin, next = turn.with_two.find(next_name, end);
  return next == turn.with_two.npos || next < end + lead ? std::string_view()
                                                         : turn.with_two.substr(end, next - lead - end);
}

/// A form whose call's name and arguments are at [begin, end) of the turn.
ToolCallForm around(const Turn& turn, size_t begin, size_t end, ToolCallForm form) {
  std::string_view before = turn.text.substr(0, begin), behind = trimmed_end(turn.text.substr(end));
  before.remove_prefix(std::min(before.find_first_not_of(blanks), before.size()));
  form.begin = turn.begins ? before : before.substr(before.rfind(last_tag(before)));
  form.end = behind;
  // What both calls of a turn with two have around them belongs to each, the rest to all.
  const auto first = tags_of(before), last = tags_of(behind), mid = tags_of(between_calls(turn, begin, end));
  const auto mid_begin = std::mismatch(mid.rbegin(), mid.rend(), first.rbegin(), first.rend()).first.base();
  const auto mid_end = std::mismatch(mid.begin(), mid_begin, last.begin(), last.end()).first;
  const auto size_of = [](auto from, auto to) {
    return std::accumulate(from, to, size_t{0}, [](size_t size, std::string_view tag) { return size + tag.size(); });
  };
  const size_t own_begin = before.size() - size_of(mid_begin, mid.end()), own_end = size_of(mid.begin(), mid_end);
  if (trimmed(before.substr(own_begin)).empty()) return form;
  form.begin = before.substr(before.find_first_not_of(blanks, own_begin));
  form.end = trimmed_end(behind.substr(0, own_end));
  form.around_begin = last_tag(before.substr(0, own_begin));
  form.around_end = first_tag(behind.substr(own_end));
  return form;
}

/// The outermost JSON of a turn that has the name.
std::optional<ToolCallForm> json_call_form(const Turn& turn, const Json& arguments) {
  for (size_t at = turn.text.find_first_of("{["); at != turn.text.npos; at = turn.text.find_first_of("{[", at + 1)) {
    const size_t length = json_length(turn.text.substr(at));
    if (length == 0) continue;
    const Json json = Json::parse(turn.text.substr(at, length), nullptr, false);
    const Json& call = json.is_array() && json.size() == 1 ? json[0] : json;
    if (!call.is_object()) continue;
    ToolCallForm form{.list = json.is_array(), .name = ""};
    for (const auto& [member, value] : call.items()) {
      if (value == Json(name)) form.name = member;
      if (value == arguments) form.arguments = member;
    }
    if (form.name.empty()) continue;
    if (form.arguments.empty()) return std::nullopt;
    form = around({turn.text, form.list ? "" : turn.with_two, turn.begins}, at, at + length, form);
    return turn.begins || !form.begin.empty() ? std::optional(form) : std::nullopt;
  }
  return std::nullopt;
}

/// A turn that has the name, behind it other text and then the arguments as JSON.
std::optional<ToolCallForm> named_call_form(const Turn& turn, const Json& arguments) {
  const std::string_view text = turn.text;
  const size_t at = text.find(name), json = text.find('{', at == text.npos ? at : at + name.size());
  if (at == text.npos || json == text.npos) return std::nullopt;
  const size_t length = json_length(text.substr(json));
  if (Json::parse(text.substr(json, length), nullptr, false) != arguments) return std::nullopt;
  std::string_view name_end = text.substr(at + name.size(), json - at - name.size());
  name_end = name_end.substr(0, name_end.find(call_id));                            // some have one between
  if (trimmed(name_end).empty() || name_end.starts_with('"')) return std::nullopt;  // the latter is JSON of its own
  ToolCallForm form = around(turn, at, json + length, {.name_end = std::string(name_end)});
  form.begin = trimmed(form.begin);
  form.end = trimmed(form.end);
  return form.begin.empty() ? std::nullopt : std::optional(form);
}

/// Those that have no part around all calls.
std::optional<ToolCallForm> other_call_form(const Turn& turn, const Json& arguments) {
  if (auto form = python_call_form(turn.text, name, arguments)) {
    if (!turn.begins) form->begin = last_tag(form->begin);
    return form;
  }
  if (auto form = quoted_call_form(turn.text, name, arguments)) {
    const size_t begin = turn.text.find(name);
    const ToolCallForm own = around(turn, begin, turn.text.rfind(form->end), {});
    form->begin = own.begin;
    if (!form->end.empty()) form->end = trimmed(own.end);
    return form;
  }
  return turn.begins ? tagged_call_form(turn.text, name, arguments) : std::nullopt;
}

}  // namespace

std::optional<ToolCallForm> find_tool_call_form(const ChatTemplate& chat, const Json& variables) {
  if (!chat.mentions("tools")) return std::nullopt;
  const std::string answer = "vkformer-answer";
  const Json arguments{{"vkformer_argument", 4711}, {"vkformer_other", "vkformer-text"}};
  const auto call = [&](std::string_view tool, std::string_view id, const Json& given) {
    return Json{{"id", id}, {"type", "function"}, {"function", {{"name", tool}, {"arguments", given}}}};
  };
  const auto tool = [](std::string_view called) {
    return Json{{"type", "function"},
                {"function",
                 {{"name", called},
                  {"description", "A tool"},
                  {"parameters", {{"type", "object"}, {"properties", Json::object()}}}}}};
  };
  const auto rendered = [&](const Json& turn) {
    const Json messages = Json::array({{{"role", "user"}, {"content", "question"}}, turn});
    return chat.render({.messages = messages, .tools = Json::array({tool(name)}), .variables = variables}).text;
  };
  const auto calls = [&](const Json& list) {
    return rendered({{"role", "assistant"}, {"content", ""}, {"tool_calls", list}});
  };
  std::string with, without, two;
  const Json first = call(name, call_id, arguments);
  try {
    without = rendered({{"role", "assistant"}, {"content", answer}});
    with = calls(Json::array({first}));
  } catch (const Error&) {
    return std::nullopt;
  }
  try {
    two = calls(Json::array({first, call(next_name, next_id, {{"vkformer_last", 1}})}));
  } catch (const Error&) {  // the model calls one tool at a time
  }
  const size_t start = without.rfind(answer);
  if (start == without.npos) return std::nullopt;
  Turn turn;
  // An answer may stand behind a blank, a call not.
  size_t before = trimmed_end(std::string_view(without).substr(0, start)).size();
  turn.begins = with.compare(0, before, without, 0, before) == 0;
  if (!turn.begins) {
    before = static_cast<size_t>(std::ranges::mismatch(with, without).in1 - with.begin());
    const size_t tag = with.rfind('<', before), closed = with.find_first_of(">\n", tag);
    if (tag != with.npos && closed != with.npos && closed >= before) before = tag;
  }
  turn.text = trimmed_end(std::string_view(with).substr(before));
  // What ends every answer is none of the call's.
  const std::string_view behind = std::string_view(without).substr(start + answer.size());
  const auto ends = tags_of(trimmed(behind)), own = tags_of(turn.text);
  for (size_t i = 0; i < std::min(ends.size(), own.size()) && ends[ends.size() - 1 - i] == own[own.size() - 1 - i]; ++i)
    turn.text.remove_suffix(own[own.size() - 1 - i].size());

  if (turn.text.substr(0, turn.text.find(name)).find(call_id) != turn.text.npos) return std::nullopt;
  if (two.size() > before) turn.with_two = std::string_view(two).substr(before);
  if (auto form = json_call_form(turn, arguments)) return form;
  if (auto form = named_call_form(turn, arguments)) return form;
  return other_call_form(turn, arguments);
}

std::optional<ToolCallForm> known_call_form(
    const ChatTemplate& chat, const std::function<std::optional<int32_t>(std::string_view token)>& id_of) {
  if (!chat.mentions("tools")) return std::nullopt;
  const ToolCallForm forms[] = {
      {.begin = "<|tool_call_start|>", .end = "<|tool_call_end|>", .list = true, .python = true},
      {.begin = "<tool_call>\n", .end = "\n</tool_call>", .arguments = "arguments"},
      {.begin = "<|tool_call|>", .end = "<|/tool_call|>", .list = true, .arguments = "arguments"},
      {.begin = "<|tool_call|>", .list = true, .arguments = "arguments"}};
  for (const ToolCallForm& form : forms)
    if (id_of(trimmed(form.begin)) && (form.end.empty() || id_of(trimmed(form.end)))) return form;
  return std::nullopt;
}

}  // namespace vkformer
