// The forms in which models call tools, found by small templates with the structure of released ones, and read back.

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "models/chat/tool_calls.h"

using namespace vkformer;
using Json = nlohmann::ordered_json;

namespace {

/// A template that writes each answer as `answer` and each message with calls as `calls`, of which one is `call`.
ChatTemplate template_of(const std::string& calls, const std::string& call,
                         const std::string& answer = "{{ m.content }}<end>") {
  return {
      "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{% if m.role == 'user' %}"
      "<user>{{ m.content }}<bot>{% elif m.tool_calls %}" +
          calls.substr(0, calls.find("..")) + "{% for c in m.tool_calls %}{% set f = c.function %}" + call +
          "{% endfor %}" + calls.substr(calls.find("..") + 2) + "{% else %}" + answer + "{% endif %}{% endfor %}",
      "t"};
}

const Json tools = Json::parse(R"([{"type": "function", "function": {"name": "weather", "parameters": {"properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}}}}}, {"type": "function", "function": {"name": "clock"}}])");

/// What a reader makes of an answer in pieces of some sizes: text|calls. All must be the same.
std::string read(const ToolCallForm& form, const std::string& answer) {
  std::string all;
  for (const size_t piece : {1, 3, 8, 1000}) {
    ToolCallReader reader(form, tools);
    std::string text, calls;
    const auto take = [&](const ToolCallReader::Part& part) {
      text += part.text;
      for (const auto& [name, arguments] : part.calls) calls += name + arguments + ";";
    };
    for (size_t at = 0; at < answer.size(); at += piece) take(reader.push(answer.substr(at, piece)));
    take(reader.end());
    if (piece == 1) all = text + "|" + calls;
    INFO(piece << " of " << answer);
    CHECK(all == text + "|" + calls);
  }
  return all;
}

/// The form that a template writes, where it reads what the template writes of two calls; and of an answer before them.
std::optional<ToolCallForm> form_of(const ChatTemplate& chat) {
  const auto form = find_tool_call_form(chat, {});
  if (!form) return form;
  const Json calls = Json::parse(R"([{"id": "call00000", "function": {"name": "weather", "arguments": {"city": "Bern",
      "days": 2}}}, {"id": "call00001", "function": {"name": "clock", "arguments": {"city": "a"}}}])");
  const Json messages = Json::array(
      {{{"role", "user"}, {"content", "?"}}, {{"role", "assistant"}, {"content", "I look."}, {"tool_calls", calls}}});
  std::string answer = chat.render({.messages = messages}).text;
  answer = answer.substr(answer.find("<bot>") + 5);
  if (answer.ends_with("<end>")) answer.resize(answer.size() - 5);
  const std::string called = R"(|weather{"city":"Bern","days":2};clock{"city":"a"};)";
  CHECK(read(*form, answer) == called);
  CHECK(read(*form, "I look.\n" + answer) == "I look." + called);
  return form;
}

}  // namespace

TEST_CASE("calls may have tags around each and around all", "[chat]") {
  const auto kimi = form_of(template_of("<all>..</all><end>",
                                        "<call>{{ f.name }}:{{ loop.index0 }}<of>{{ f.arguments | "
                                        "tojson }}</call>"));
  CHECK(
      kimi ==
      ToolCallForm{
          .begin = "<call>", .end = "</call>", .name_end = ":0<of>", .around_begin = "<all>", .around_end = "</all>"});
  CHECK(read(*kimi, "<all> is a tag") == "<all> is a tag|");
  CHECK(read(*kimi, "a <all>\n<call>clock:0<of>{}</call>\n</all>\nb") == "a\nb|clock{};");
  // A tag that ends messages with calls alone is not written by a model before it ends.
  const auto functionary =
      form_of(template_of("..<calls_end>", "<function={{ f.name }}>{{ f.arguments | tojson }}</function>"));
  CHECK(functionary ==
        ToolCallForm{.begin = "<function=", .end = "</function>", .name_end = ">", .around_end = "<calls_end>"});
  CHECK(read(*functionary, "<function=clock>{}</function>") == "|clock{};");
  // DeepSeek's first: white space between name and arguments.
  const auto fenced = form_of(template_of(
      "<all>..</all>", "<call>function<sep>{{ f.name }}\n```json\n{{ f.arguments | tojson }}\n```</call>\n"));
  REQUIRE(fenced);
  CHECK(fenced->name_end == "\n```json\n");
  CHECK(read(*fenced, "<call>function<sep>clock\n```js\n") == "<call>function<sep>clock\n```js\n|");
  // MiniMax M2: of tags whose names are attributes, the first is that of all.
  const auto named = form_of(template_of("<all>\n..</all>",
                                         "<invoke name=\"{{ f.name }}\">\n{% for k, v in f.arguments.items() %}"
                                         "<parameter name=\"{{ k }}\">{{ v }}</parameter>\n{% endfor %}</invoke>\n"));
  REQUIRE(named);
  CHECK(named->tags);
}

TEST_CASE("calls may begin another way than answers do", "[chat]") {
  // Command R7B: thoughts before them, a mark before answers, and other names for the parts of a call.
  const auto command = find_tool_call_form(
      template_of(
          "<think></think><calls>[..]</calls><end>",
          "{\"id\": \"{{ loop.index0 }}\", \"tool_name\": {{ f.name | tojson }}, \"parameters\": {{ f.arguments | "
          "tojson }}}{% if not loop.last %}, {% endif %}",
          "<answer>{{ m.content }}</answer><end>"),
      {});
  CHECK(command ==
        ToolCallForm{
            .begin = "<calls>", .end = "</calls>", .list = true, .arguments = "parameters", .name = "tool_name"});
  CHECK(read(*command,
             "a<calls>[{\"tool_name\": \"clock\", \"parameters\": {\"a\": 1}}, {\"tool_name\": \"f\"}]</calls>") ==
        "a|clock{\"a\":1};f{};");
  // What stands there without a tag can't be told from an answer.
  CHECK(!find_tool_call_form(
      template_of("call ..", "{{ {'name': f.name, 'arguments': f.arguments} | tojson }}", "answer {{ m.content }}"),
      {}));
}

TEST_CASE("calls may be Python's", "[chat]") {
  const auto python =
      form_of(template_of("<calls>[..]</calls><end>",
                          "{% if not loop.first %}, {% endif %}{{ f.name }}({% for k, v in f.arguments.items() "
                          "%}{% if not loop.first %}, {% endif %}{{ k }}={{ v | tojson }}{% endfor %})"));
  CHECK(python == ToolCallForm{.begin = "<calls>", .end = "</calls>", .list = true, .python = true});
  CHECK(
      read(*python,
           R"(<calls>[f(a='it\'s "x"\n\u00e9\d', b=[1, -2.5e3, (True, None)], c={'k': {"l": false}}), g()]</calls>)") ==
      R"(|f{"a":"it's \"x\"\né\\d","b":[1,-2500.0,[true,null]],"c":{"k":{"l":false}}};g{};)");
  CHECK(read(*python, R"(<calls>[f(a='\ud83d\ude00 \ud83d \u0041')]</calls>)") ==
        "|f{\"a\":\"\U0001F600 \\\\ud83d A\"};");
  CHECK(read(*python, "<calls>\n[ f ( a = 1 , ) ]") == "<calls>\n[ f ( a = 1 , ) ]|");
  CHECK(read(*python, "See <calls>[f(a=1)]</calls> it") == "See it|f{\"a\":1};");
  for (const std::string none :
       {"<calls>[f(1)]</calls>", "<calls>[f(a=b)]</calls>", "<calls>[f(a='", "<calls>f()</calls>"})
    CHECK(read(*python, none) == none + "|");
  const std::string deep = "<calls>[f(a=" + std::string(200, '[') + std::string(200, ']') + ")]";
  CHECK(read(*python, deep) == deep + "|");
}

TEST_CASE("a tokenizer may tell how calls are written where the template does not", "[chat]") {
  const ChatTemplate with("{{ tools | tojson }}{{ messages[0].content }}", "t"), without("{{ messages }}", "t");
  const auto known = [&](std::set<std::string_view> tokens) {
    const auto id_of = [tokens](std::string_view token) {
      return tokens.contains(token) ? std::optional<int32_t>(1) : std::nullopt;
    };
    CHECK(!known_call_form(without, id_of));
    const auto form = known_call_form(with, id_of);
    return form ? form->begin + "|" + form->end + (form->list ? "|list" : "") + (form->python ? "|python" : "") : "";
  };
  CHECK(known({"<tool_call>", "</tool_call>"}) == "<tool_call>\n|\n</tool_call>");
  CHECK(known({"<|tool_call_start|>", "<|tool_call_end|>"}) == "<|tool_call_start|>|<|tool_call_end|>|list|python");
  CHECK(known({"<|tool_call|>"}) == "<|tool_call|>||list");
  CHECK(known({"<|tool_call|>", "<|/tool_call|>"}) == "<|tool_call|>|<|/tool_call|>|list");
  CHECK(known({"<tool_call>"}).empty());
}
