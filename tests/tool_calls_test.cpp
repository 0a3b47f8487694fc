// Calls of tools: the forms that templates write, and answers that have them.

#include "models/chat/tool_calls.h"

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "models/chat/chat_files.h"
#include "models/chat/tagged_values.h"
#include "models/constraint/grammar_states.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::ordered_json;

namespace {

const ToolCallForm qwen{.begin = "<tool_call>\n", .end = "\n</tool_call>", .arguments = "arguments"};
const ToolCallForm llama{.arguments = "parameters"};
const ToolCallForm coder{.begin = "<tool_call>\n<function=",
                         .end = "</function>\n</tool_call>",
                         .tags = ToolCallForm::Tags{">\n", "<parameter=", ">\n", "\n</parameter>\n"}};
const ToolCallForm granite{.begin = "<tool_call>", .list = true, .arguments = "arguments"};

const ToolCallForm glm{.begin = "<tool_call>",
                       .end = "</tool_call>",
                       .tags = ToolCallForm::Tags{"\n", "<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"}};

const ToolCallForm mistral{.begin = "[TOOL_CALLS] ", .list = true, .arguments = "arguments"};
const ToolCallForm gemma4{.begin = "<|tool_call>call:", .end = "<tool_call|>", .quote = "<|\"|>"};

const ToolCallForm mistral_2025{.begin = "[TOOL_CALLS]", .name_end = "[ARGS]"};

/// An answer, read in pieces: its text, then its calls as name(arguments);
std::string read_with(ToolCallReader reader, const std::string& answer, size_t piece) {
  std::string text, calls;
  const auto take = [&](const ToolCallReader::Part& part) {
    text += part.text;
    for (const auto& [name, arguments] : part.calls) calls += fmt::format("{}({});", name, arguments);
  };
  for (size_t at = 0; at < answer.size(); at += piece) take(reader.push(answer.substr(at, piece)));
  take(reader.end());
  return text + "|" + calls;
}
std::string read(const ToolCallForm& form, const std::string& answer, size_t piece) {
  return read_with(ToolCallReader(form), answer, piece);
}

}  // namespace

TEST_CASE("templates say how their model calls tools", "[chat]") {
  const auto form_of = [](const std::string& name) {
    const auto file = fixtures.parent_path() / "chat_templates/recorded" / (name + ".jinja");
    return find_tool_call_form(chat_template_named(file.generic_string()),
                               {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  };
  CHECK(form_of("qwen2_5") == qwen);
  CHECK(form_of("qwen3") == qwen);
  CHECK(form_of("llama3_tools") == llama);
  CHECK(form_of("qwen3_coder") == coder);
  CHECK(form_of("mistral_tools") == mistral);
  CHECK(form_of("gemma4") == gemma4);
  for (const char* name : {"chatml", "gemma3", "harmony", "deepseek_r1", "granite"}) {
    INFO(name);
    CHECK(!form_of(name));
  }
}

TEST_CASE("calls are told from the rest of an answer, in whatever pieces it comes", "[chat]") {
  const std::string one = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}<\\\"\"}}\n</tool_call>";
  for (const size_t piece : {1, 2, 3, 7, 1000}) {
    INFO(piece);
    CHECK(read(qwen, one, piece) == "|f({\"a\":\"}<\\\"\"});");
    CHECK(read(qwen, "I look.\n\n" + one + "\n" + one + "\n", piece) ==
          "I look.|f({\"a\":\"}<\\\"\"});f({\"a\":\"}<\\\"\"});");
    CHECK(read(qwen, "a < b, <tool", piece) == "a < b, <tool|");
    CHECK(read(qwen, "<tool_call>\nnothing\n</tool_call>", piece) == "<tool_call>\nnothing\n</tool_call>|");
    CHECK(read(qwen, "<tool_call>\n{\"name\": \"f\"", piece) == "<tool_call>\n{\"name\": \"f\"|");
    CHECK(read(qwen, "<tool_call>{\"name\": \"f\", \"parameters\": {}}", piece) == "|f({});");
    CHECK(read(qwen, "plain  text\n", piece) == "plain  text\n|");
    CHECK(read(llama, " {\"name\": \"g\", \"parameters\": {\"x\": [1, 2]}}", piece) == "|g({\"x\":[1,2]});");
    CHECK(read(llama, "{\"some\": \"JSON\"} and more", piece) == "{\"some\": \"JSON\"} and more|");
    CHECK(read(llama, "See {\"name\": \"g\"}", piece) == "See {\"name\": \"g\"}|");
    CHECK(read(llama, "[1] is a source", piece) == "[1] is a source|");
    const std::string deep =
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": " + std::string(100, '[') + std::string(100, ']') + "}}";
    CHECK(read(qwen, deep, 50 * piece) == deep + "|");
    CHECK(read(granite, "<tool_call>[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\"}]", piece) ==
          "|f({});g({});");
  }
}

TEST_CASE("a call may have its name before the JSON", "[chat]") {
  const auto written = [](const std::string& call) {
    const TemporaryFolder folder;
    std::ofstream(folder / "template.jinja") << "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages "
                                                "%}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]"
                                                "{% else %}{% for c in m.tool_calls or [] %}" +
                                                    call + "{% endfor %}{{ m.content }}</s>{% endif %}{% endfor %}";
    return find_tool_call_form(chat_template_named((folder / "template.jinja").generic_string()), {});
  };
  CHECK(written("[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}") == mistral_2025);
  CHECK(written("[TOOL_CALLS]{{ c.function.name }}[CALL_ID]{{ c.id }}[ARGS]{{ c.function.arguments | tojson }}")
            ->name_end == "[CALL_ID]");
  for (const size_t piece : {1, 4, 1000}) {
    INFO(piece);
    CHECK(read(mistral_2025, "[TOOL_CALLS]f[ARGS]{\"a\": \"}\"}[TOOL_CALLS]g[ARGS]{}", piece) ==
          "|f({\"a\":\"}\"});g({});");
    CHECK(read(mistral_2025, "[TOOL_CALLS]f[ARGS]{\"a\"", piece) == "[TOOL_CALLS]f[ARGS]{\"a\"|");
    CHECK(read(mistral_2025, "[TOOL_CALLS]f[CALL_ID]a1[ARGS]{}", piece) == "|f({});");
    CHECK(read(mistral_2025, "[TOOL_CALLS]f{\"a\": 1}[TOOL_CALLS]g[ARGS]{}", piece) == "|f({\"a\":1});g({});");
    CHECK(read(mistral_2025, "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}]", piece) == "|f({});");
    CHECK(read(harmony_call_form, "<|channel|>commentary to=functions.f<|message|><|call|>", piece) == "|f({});");
    CHECK(read(mistral_2025, "[TOOL_CALLS] is a mark", piece) == "[TOOL_CALLS] is a mark|");
    CHECK(read(harmony_call_form, "Let me see.<|channel|>commentary to=functions.f<|message|>{\"a\": 1}", piece) ==
          "Let me see.|f({\"a\":1});");
    CHECK(read(mistral, "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}]", piece) == "|f({});");
  }
}

TEST_CASE("a call's arguments may be like JSON, with marks around texts alone", "[chat]") {
  const std::string call =
      "<|tool_call>call:f{city:<|\"|>Bern, \"CH\" }<|\"|>,days:[1,2.5],deep:{a:None,<|\"|>b c<|\"|>:true},"
      "none:{},plain:some text}<tool_call|>";
  const std::string called =
      R"(f({"city":"Bern, \"CH\" }","days":[1,2.5],"deep":{"a":null,"b c":true},"none":{},"plain":"some text"});)";
  for (const size_t piece : {1, 3, 8, 1000}) {
    INFO(piece);
    CHECK(read(gemma4, call, piece) == "|" + called);
    CHECK(read(gemma4, "I look.\n" + call + call, piece) == "I look.|" + called + called);
    CHECK(read(gemma4, "<|tool_call>call:g{}<tool_call|>", piece) == "|g({});");
    CHECK(read(gemma4, "<|tool_call>call:g{a:1}", piece) == "|g({\"a\":1});");
    CHECK(read(gemma4, "<|tool_call>call:g{a:<|\"|>x", piece) == "<|tool_call>call:g{a:<|\"|>x|");
    CHECK(read(gemma4, "<|tool_call>call: no call", piece) == "<|tool_call>call: no call|");
    CHECK(read(gemma4, "<|tool_call>call:g{a:1]}", piece) == "<|tool_call>call:g{a:1]}|");
  }
  std::string deep = "<|tool_call>call:g{a:" + std::string(200, '[') + std::string(200, ']') + "}";
  CHECK(read(gemma4, deep, 50) == deep + "|");
}

TEST_CASE("calls in tags have values as their schemas say", "[chat]") {
  const auto tools = ordered_json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"properties":
      {"text": {"type": "string"}, "count": {"type": "integer"}, "list": {"type": "array"}}}}}])");
  const auto read_all = [&](const ToolCallForm& form, const std::string& answer, size_t piece) {
    return read_with(ToolCallReader(form, tools), answer, piece);
  };
  const std::string call =
      "<tool_call>\n<function=f>\n<parameter=text>\nif (a < 1) {\n  "
      "b</p>\n}\n</parameter>\n<parameter=count>\n12\n</parameter>\n"
      "<parameter=list>\n[1, \"x\"]\n</parameter>\n</function>\n</tool_call>";
  const std::string called = R"(f({"text":"if (a < 1) {\n  b</p>\n}","count":12,"list":[1,"x"]});)";
  for (const size_t piece : {1, 2, 5, 1000}) {
    INFO(piece);
    CHECK(read_all(coder, call, piece) == "|" + called);
    CHECK(read_all(coder, "I look.\n" + call + "\n" + call, piece) == "I look.|" + called + called);
    // Models leave out the first tag (of tools that there are), or the last; or have two calls between them.
    const std::string bare = call.substr(std::string_view("<tool_call>\n").size());
    CHECK(read_all(coder, "I look.\n\n" + bare, piece) == "I look.|" + called);
    CHECK(read_all(coder, "<function=unknown>\n</function>", piece) == "<function=unknown>\n</function>|");
    CHECK(read_all(coder, call.substr(0, call.rfind("\n<")) + "\n", piece) == "|" + called);
    CHECK(read_all(coder, "<tool_call>\n<function=f>\n</function>\n<function=f>\n</function>\n</tool_call>", piece) ==
          "|f({});f({});");
    // A value ends where a key begins or the call ends.
    CHECK(
        read_all(coder,
                 "<tool_call>\n<function=f>\n<parameter=text>\na</parameter>b\n</parameter>\n</function>\n</tool_call>",
                 piece) == R"(|f({"text":"a</parameter>b"});)");
    CHECK(read_all(glm, "<tool_call>f<arg_key>text</arg_key><arg_value>x</arg_value></tool_call>", piece) ==
          R"(|f({"text":"x"});)");
    // Without line ends; what is no number stays text; a key that the tool has not is text.
    CHECK(read_all(coder,
                   "<tool_call><function=f><parameter=count>many</parameter><parameter=other>1</parameter></function></"
                   "tool_call>.",
                   piece) == R"(.|f({"count":"many","other":"1"});)");
    CHECK(read_all(coder, "<tool_call>\n<function=g>\n</function>\n</tool_call>", piece) == "|g({});");
    for (const char* none : {"a <tool_call>\nnothing", "<tool_call>\n<function=f>\n<parameter=text>\nhalf",
                             "<tool_call>\n<function=f>\nx</function>"})
      CHECK(read_all(coder, none, piece) == std::string(none) + "|");
    CHECK(read_all(glm,
                   "<tool_call>f\n<arg_key>text</arg_key>\n<arg_value>1\n2</arg_value>\n<arg_key>count</"
                   "arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
                   piece) == R"(|f({"text":"1\n2","count":3});)");
  }
  CHECK_THROWS_AS(gbnf_of_tool_calls(coder, {{"f", {}}}, false), Error);
}

TEST_CASE("values between tags have the types of their schemas", "[chat]") {
  const auto tools = ordered_json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {
      "properties": {"maybe": {"type": ["string", "null"]}, "any": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "one": {"enum": ["1", "2"]},
                     "number": {"enum": [1, 2]}, "flag": {"type": "boolean"}, "list": {"type": "array"}, "ref": {"$ref": "#/$defs/part"}, "free": {},
                     "lost": {"$ref": "#/$defs/none"}, "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
      "$defs": {"part": {"type": "object"}}}}}, {"type": "function"}])");
  const auto value = [&](const char* key, const char* text) { return tagged_value(tools, "f", key, text).dump(); };
  CHECK(value("maybe", "12") == "\"12\"");
  CHECK(value("maybe", "None") == "null");
  CHECK(value("any", "{\"a\": 1}") == "\"{\\\"a\\\": 1}\"");
  CHECK(value("one", "1") == "\"1\"");
  CHECK(value("number", "1") == "1");
  CHECK(value("flag", "True") == "true");
  CHECK(value("list", "['it\\'s', \"b\", None, 1.5]") == "[\"it's\",\"b\",null,1.5]");
  CHECK(value("list", "1, \"z\": 2") == "\"1, \\\"z\\\": 2\"");
  CHECK(value("ref", "{'a': 'say \"x\"', 'b': False}") == R"({"a":"say \"x\"","b":false})");
  for (const char* key : {"free", "lost", "unknown"}) CHECK(value(key, "1") == "\"1\"");
  CHECK(value("count", "3") == "3");
  CHECK(value("count", "null") == "null");
  CHECK(tagged_value(tools, "g", "count", "3") == "3");
  CHECK(has_tool(tools, "f"));
  CHECK(!has_tool(tools, "g"));
}

TEST_CASE("a grammar makes the calls of some tools", "[chat]") {
  const std::vector<Tool> tools{
      {"f", ordered_json::parse(R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"],
                                    "$defs": {"n": {"type": "integer"}}})")},
      {"g", ordered_json::parse(R"({"type": "object", "properties": {}})")}};
  const auto makes = [&](const ToolCallForm& form, bool several, const std::string& text) {
    GrammarStates states(parse_gbnf(gbnf_of_tool_calls(form, tools, several), "g"));
    const auto state = states.next(states.start(), text);
    return state != GrammarStates::nowhere && states.ends(state);
  };
  const std::string f = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  CHECK(makes(qwen, false, f));
  CHECK(makes(qwen, true, f + "\n" + f));
  CHECK_FALSE(makes(qwen, false, f + "\n" + f));
  CHECK_FALSE(makes(qwen, true, "<tool_call>\n{\"name\": \"g\", \"arguments\": {\"a\": 1}}\n</tool_call>"));
  CHECK(makes(llama, true, "{\"name\": \"g\", \"parameters\": {}}"));
  CHECK_FALSE(makes(llama, true, "{\"name\": \"h\", \"parameters\": {}}"));
  CHECK(makes(granite, true,
              "<tool_call>[{\"name\": \"g\", \"arguments\": {}}, {\"name\": \"f\", \"arguments\": {\"a\": 1}}]"));
}
