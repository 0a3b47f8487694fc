// Chat templates: the texts that Jinja gives, and what is refused.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <fstream>

#include "models/chat/chat_template.h"
#include "tests/file_helpers.h"
#include "tests/fuzz_helpers.h"
#include "tests/model_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Json = nlohmann::ordered_json;

Conversation conversation_of(const Json& json) {
  const auto field = [&](const char* key, Json otherwise) { return json.contains(key) ? json[key] : otherwise; };
  return {.messages = field("messages", Json::array()),
          .tools = field("tools", nullptr),
          .documents = field("documents", nullptr),
          .add_generation_prompt = field("add_generation_prompt", false),
          .variables = field("variables", Json::object())};
}

const Json hello = Json::parse(R"([{"role": "user", "content": "Hello"}])");

std::string rendered(const std::string& source, Json variables = Json::object()) {
  return ChatTemplate(source, "t").render({.messages = hello, .variables = std::move(variables)}).text;
}

std::string error_in(const std::string& source) {
  return error_of([&] { rendered(source); });
}

}  // namespace

TEST_CASE("templates of well-known families give Jinja's text", "[chat]") {
  const auto folder = fixtures.parent_path() / "chat_templates" / "recorded";
  const Json expected = Json::parse(get(folder / "expected.json"));
  int texts = 0, refused = 0;
  for (const auto& [name, by_conversation] : expected["rendered"].items()) {
    const ChatTemplate chat(get(folder / (name + ".jinja")), name);
    for (const auto& [title, text] : by_conversation.items()) {
      INFO(name << ", " << title);
      Conversation conversation = conversation_of(expected["conversations"][title]);
      for (const auto& [token, content] : expected["tokens"].items()) conversation.variables[token] = content;
      if (text.is_null()) {
        ++refused;
        CHECK_THAT(error_of([&] { chat.render(conversation); }), ContainsSubstring(name + ", line "));
      } else {
        ++texts;
        CHECK(chat.render(conversation).text == text.get<std::string>());
      }
    }
  }
  CHECK(texts > 300);
  CHECK(refused > 50);
}

TEST_CASE("a template tells what the assistant wrote", "[chat]") {
  const ChatTemplate chat(
      "{% for m in messages %}{{ m.role }}: {% generation %}{{ m.content }}.{% endgeneration %}{% endfor %}", "t");
  Json messages = hello;
  messages.push_back({{"role", "assistant"}, {"content", "Yes"}});
  const RenderedChat rendered = chat.render({.messages = messages});
  CHECK(rendered.text == "user: Hello.assistant: Yes.");
  REQUIRE(rendered.generated.size() == 2);
  CHECK(rendered.text.substr(rendered.generated[1].begin, rendered.generated[1].end - rendered.generated[1].begin) ==
        "Yes.");
}

TEST_CASE("whitespace is cut as with trim_blocks and lstrip_blocks", "[chat]") {
  CHECK(rendered("  {% if true %}\n a\n  {%- endif %}\nb\n") == " ab");
  CHECK(rendered("x {% if true %}\n y{%+ endif +%}\n") == "x  y");
  CHECK(rendered("a\n  {{ 1 }}\n  {#- c #}\nb") == "a\n  1b");
  CHECK(rendered("{% raw %}{{ 1 }}{% endraw %}\n{{- 2 -}} \n 3") == "{{ 1 }}23");
}

TEST_CASE("scopes are Jinja's", "[chat]") {
  CHECK(rendered("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = i + 5 %}{{ x }}{% endfor %}{{ x }}") ==
        "16171");
  CHECK(rendered("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}") ==
        "4");
  CHECK(rendered("{% macro f(a) %}{{ a }}{{ caller() }}{% endmacro %}{% call f(1) %}{{ 2 }}{% endcall %}") == "12");
  // In Jinja it is the body's end that the else asks for.
  CHECK(rendered("{% for i in [1] %}{% break %}{% else %}else{% endfor %}") == "else");
  CHECK(rendered("{% set it = [1, 2]|map('string') %}{{ it|join }}{{ it|join }}") == "12");
}

TEST_CASE("numbers and texts print as in Python", "[chat]") {
  CHECK(rendered("{{ [1.0, 1e16, 1e-05, 0.1 + 0.2, 7 // -2, -7 % 3, true, none, 'it\\'s', \"\\x07\\n\"] }}") ==
        R"([1.0, 1e+16, 1e-05, 0.30000000000000004, -4, 2, True, None, "it's", '\x07\n'])");
  CHECK(rendered("{{ v|tojson }}{{ v|tojson(indent=1) }}", {{"v", Json::parse(R"({"b": [1, "é\n"], "a": {}})")}}) ==
        "{\"b\": [1, \"é\\n\"], \"a\": {}}{\n \"b\": [\n  1,\n  \"é\\n\"\n ],\n \"a\": {}\n}");
  CHECK(rendered("{{ '<a{}>{{{}}}'.format(1, 2) }}{{ '{1}{x}{0}{y}'.format(none, 1.0, x='é', y=nothing) }}") ==
        "<a1>{2}1.0éNone");
}

TEST_CASE("texts are found in texts that nearly have them, and times are told in the same way everywhere", "[chat]") {
  CHECK(rendered("{{ 'aabaabaaab'.find('aabaaab') }} {{ 'aaab'.find('aab') }} {{ 'aab'.rfind('a') }}") == "3 1 1");
  CHECK(rendered("{{ 'ab'.find('') }} {{ 'ab'.find('abc') }} {{ 'aaaa'.find('ab') }}") == "0 -1 -1");
  CHECK(rendered("{{ 'ababab'.replace('aba', 'x') }} {{ 'aXbXXc'.split('X') }}") == "xbab ['a', 'b', '', 'c']");
  CHECK(rendered("{{ strftime_now('%f%%|') }}{{ strftime_now('%k')|length }}") == "%f%|2");
}

TEST_CASE("what is not supported is refused by name and line", "[chat]") {
  CHECK_THAT(error_in("\n{% include 'x' %}"), ContainsSubstring("t, line 2: the tag \"include\" is not supported"));
  CHECK_THAT(error_in("{{ 1|urlize }}"), ContainsSubstring("t, line 1: the filter \"urlize\" is not supported"));
  CHECK_THAT(error_in("{{ 1 is escaped }}"), ContainsSubstring("the test \"escaped\" is not supported"));
  CHECK_THAT(error_in("{{ 'x'.encode() }}"), ContainsSubstring("'encode' of a str is not supported"));
  CHECK_THAT(error_in("{{ '{:>3}'.format(1) }}"), ContainsSubstring("{}, {0} and {name} are supported"));
  CHECK_THAT(error_in("{{ '{}{}'.format(1) }}"), ContainsSubstring("has 1 arguments, and its text asks for more"));
  CHECK_THAT(error_in("{{ '{}{0}'.format(1) }}"), ContainsSubstring("either {} or numbers"));
  CHECK_THAT(error_in("{{ 'a}'.format(1) }}"), ContainsSubstring("a single '}'"));
  CHECK_THAT(error_in("{% for i in [1] recursive %}{% endfor %}"), ContainsSubstring("recursive loops"));
  CHECK_THAT(error_in("{{ messages.append(1) }}"), ContainsSubstring("'append' would change a list"));
  CHECK_THAT(error_in("{{ ''.__class__.__mro__ }}"), ContainsSubstring("a value of type str has no \"__class__\""));
  CHECK_THAT(error_in("\n\n{{ raise_exception('no\nway') }}"),
             ContainsSubstring("t, line 3: the template refuses this conversation: no\\nway"));
  CHECK_THAT(error_in("{{ nothing.at.all }}"), ContainsSubstring("\"nothing\" is undefined"));
  CHECK_THAT(error_in("{% if 1 %}"), ContainsSubstring("'endif' is missing"));
  CHECK_THAT(error_in("{{ 'a' + 1 }}"), ContainsSubstring("'+' of str and int"));
  CHECK_THAT(error_in("\xFF"), ContainsSubstring("t is not UTF-8: byte 0 is 0xFF"));
  CHECK_THAT(error_in(std::string((size_t{1} << 20) + 1, 'a')), ContainsSubstring("templates have at most 1048576"));
}

TEST_CASE("hostile templates end soon and in bounded memory", "[chat][long]") {
  const std::string loops = "{% for a in range(99999) %}{% for b in range(99999) %}";
  CHECK_THAT(error_in(loops + "{% endfor %}{% endfor %}"), ContainsSubstring("more than"));
  CHECK_THAT(error_in("{{ 'a' * 99999999999 }}"), ContainsSubstring("can't be repeated"));
  CHECK_THAT(error_in("{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}"),
             ContainsSubstring("MiB of values"));
  // Shared parts: small in memory, without end in print.
  CHECK_THAT(
      error_in(
          "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}"),
      ContainsSubstring("more than"));
  CHECK_THAT(error_in("{% set n = namespace(x=[]) %}{% for i in range(200) %}{% set n.x = [n.x] %}{% endfor %}"),
             ContainsSubstring("levels deep"));
  CHECK_THAT(error_in("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
             ContainsSubstring("levels lie in each other"));
  CHECK_THAT(error_in("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}"),
             ContainsSubstring("levels"));
  CHECK_THAT(error_in("{{ 1" + std::string(5000, '+') + "1 }}"), ContainsSubstring("levels"));
  std::string sum = "{{ 1";
  for (int i = 0; i < 5000; ++i) sum += " + 1";
  CHECK_THAT(error_in(sum + " }}"), ContainsSubstring("levels"));
  CHECK_THAT(error_in("{{ 'abc'.replace('', 'x' * 99999999) }}"), ContainsSubstring("more than"));
  CHECK_THAT(error_in("{{ [1]|tojson(indent=999999999) }}"), ContainsSubstring("an indent of"));
  CHECK_THAT(error_in("{{ range(1, 9999999999) }}"), ContainsSubstring("range of more than"));
  CHECK_THAT(error_in("{{ 9223372036854775807 + 1 }}"), ContainsSubstring("64 bits"));
  // What looks through a long text, again and again; the worst texts for it.
  const std::string text = "{% set s = 'a' * 1000000 %}{% set t = 'a' * 1000 + 'b' %}" + loops;
  for (const char* looks : {"t in s", "s.rfind('b' + t)", "s.count(t)"})
    CHECK_THAT(error_in(text + "{% if " + looks + " %}{% endif %}{% endfor %}{% endfor %}"),
               ContainsSubstring("more than 20000000 steps"));
  CHECK_THAT(error_in(text + "{{ s|tojson }}{% endfor %}{% endfor %}"), ContainsSubstring("more than"));
  CHECK(rendered("{{ 'aXbXXc'.rsplit('X', 2)|join('|') }} {{ 'aXbXXc'.rfind('X') }} {{ 'ab'.rfind('') }}") ==
        "aXb||c 4 2");
  // Namespaces that hold each other are let go.
  CHECK(rendered("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ 1 }}") == "1");
}

TEST_CASE("damaged templates are rendered or refused", "[chat][fuzz]") {
  Mutator mutate(11);
  Tally tally;
  const auto folder = fixtures.parent_path() / "chat_templates" / "recorded";
  const Json expected = Json::parse(get(folder / "expected.json"));
  for (const char* name : {"llama3_tools", "qwen3", "qwen3_coder", "smollm3", "command_r_tools", "harmony", "zephyr"}) {
    const std::string good = get(folder / (std::string(name) + ".jinja"));
    for (int i = 0; i < tries(100); ++i) {
      const std::string damaged = mutate.bytes(good);
      for (const char* title : {"system", "tool_turns"})
        attempt(tally, [&] { ChatTemplate(damaged, "t").render(conversation_of(expected["conversations"][title])); });
    }
  }
  CHECK(tally.refused > 500);
  CHECK(tally.read > 100);
}

// For tests/chat_templates/fuzz.py: lines of JSON in the file VKFORMER_TEMPLATES, of which each is a conversation with
// a "template"; the file with ".out" behind its name gets a line for each.
TEST_CASE("templates of a file are rendered", "[.templates]") {
  const char* path = std::getenv("VKFORMER_TEMPLATES");
  REQUIRE(path != nullptr);
  std::ifstream in(path);
  std::ofstream out(std::string(path) + ".out");
  for (std::string line; std::getline(in, line);) {
    const Json given = Json::parse(line);
    Json result = Json::object();
    try {
      result["text"] = ChatTemplate(given["template"].get<std::string>(), "t").render(conversation_of(given)).text;
    } catch (const Error& error) {
      result["error"] = error.what();
    }
    out << result.dump() << '\n';
  }
}
