// Grammars, and JSON schemas as grammars.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "models/constraint/grammar_states.h"
#include "models/constraint/integer_range.h"
#include "models/constraint/json_schema.h"
#include "models/constraint/utf8_ranges.h"
#include "runtime/files/utf8.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

bool makes(const std::string& gbnf, const std::string& text) {
  GrammarStates states(parse_gbnf(gbnf, "g"));
  const auto state = states.next(states.start(), text);
  return state != GrammarStates::nowhere && states.ends(state);
}

std::string refusal_of(const std::string& gbnf) {
  return error_of([&] { parse_gbnf(gbnf, "g"); });
}

bool takes(const std::string& schema, const std::string& text) { return makes(gbnf_of_schema_text(schema, "s"), text); }

std::string schema_refusal(const std::string& schema) {
  return error_of([&] { gbnf_of_schema_text(schema, "s"); });
}

}  // namespace

TEST_CASE("ranges of characters are ranges of bytes", "[constraint]") {
  std::mt19937 random(7);
  const char32_t edges[] = {0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
  for (int round = 0; round < 200; ++round) {
    const auto pick = [&] {
      return round % 2 != 0 ? edges[random() % 10] : static_cast<char32_t>(random() % 0x110000);
    };
    char32_t first = pick(), last = pick();
    if (last < first) std::swap(first, last);
    const std::vector<ByteRanges> all = utf8_ranges(first, last);
    const auto matches = [&](char32_t c) {
      std::string bytes;
      append_utf8(bytes, c);
      return std::ranges::count_if(all, [&](const ByteRanges& ranges) {
        if (ranges.size() != bytes.size()) return false;
        for (size_t i = 0; i < bytes.size(); ++i) {
          const auto byte = static_cast<uint8_t>(bytes[i]);
          if (byte < ranges[i].first || byte > ranges[i].second) return false;
        }
        return true;
      });
    };
    for (const uint32_t c : std::vector<uint32_t>{first, last, first - 1, last + 1, pick(), pick(), pick()}) {
      if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) continue;
      CAPTURE(static_cast<uint32_t>(first), static_cast<uint32_t>(last), static_cast<uint32_t>(c));
      CHECK(matches(c) == (c >= first && c <= last ? 1 : 0));
    }
  }
}

TEST_CASE("a grammar makes its texts and no others", "[constraint]") {
  struct Trial {
    const char* gbnf;
    std::vector<std::string> good, bad;
  };
  const Trial trials[] = {
      {R"(root ::= "yes" | "no")", {"yes", "no"}, {"", "ye", "yesno", "Yes"}},
      {"root ::= [a-c]+ \"-\"? [^a-c\\n]*", {"a", "cab-", "b-xyz", "aé漢😀"}, {"", "-", "a\n", "d"}},
      {"root ::= item (\", \" item){0,2} # at most three\nitem ::= \"x\" | \"(\" root \")\"",
       {"x", "x, x", "x, (x, x, x), x", "((x))"},
       {"x, x, x, x", "(x", "x,x"}},
      {"root ::= .{2}", {"ab", "é漢", "😀\n"}, {"a", "abc", "é"}},
      {"root ::= a\na ::= \"a\" a |\n  \"b\"\n  | ()\n", {"", "b", "aab", "aa"}, {"ba", "abb"}},
      {"root ::= (\"a\"? \"b\"?)*", {"", "a", "b", "abba"}, {"c"}},  // what repeats may be empty
      {"root ::= \"a\"{2,} \"b\"{,1} \"c\"{2}", {"aacc", "aaabcc"}, {"acc", "aabbcc", "aac"}},
      {"root ::= \"\\x41\\u00e9\\U0001F600\\\"\\\\\" [\\]\\-\\^x]", {"Aé😀\"\\]", "Aé😀\"\\-"}, {"Aé😀\"\\y"}},
      {"root ::= [a-]{3}", {"a-a", "---"}, {"ab-"}},
      {"root::=x\r\nx::=\"a\"(\n\"b\"\n|\n\"c\")", {"ab", "ac"}, {"a"}},
      {"root ::= \"a\" x\nx ::=\n\ny ::= \"b\"", {"a"}, {"ab"}},
      {"root ::= \"(\" root \")\" | \"\"", {"", "((()))"}, {"(()", "())"}},  // of any depth
  };
  for (const Trial& trial : trials) {
    INFO(trial.gbnf);
    for (const std::string& text : trial.good) CHECK(makes(trial.gbnf, text));
    for (const std::string& text : trial.bad) {
      INFO(text);
      CHECK_FALSE(makes(trial.gbnf, text));
    }
  }
  // Neither long texts nor many repetitions make many states.
  GrammarStates states(parse_gbnf("root ::= [a-z ]* (\".\" [a-z ]*)*", "g"));
  CHECK(states.next(states.start(), std::string(100'000, 'x')) != GrammarStates::nowhere);
  CHECK(states.size() < 10);
}

TEST_CASE("what is no grammar is refused with its line", "[constraint]") {
  CHECK_THAT(refusal_of("root ::= \"a\"\nx ::= y"), ContainsSubstring("g, line 2: there is no rule \"y\""));
  CHECK_THAT(refusal_of("x ::= \"a\""), ContainsSubstring("no rule \"root\""));
  CHECK_THAT(refusal_of("root ::= \"a"), ContainsSubstring("line 1: \" is missing"));
  CHECK_THAT(refusal_of("root ::= [a"), ContainsSubstring("] is missing"));
  CHECK_THAT(refusal_of("root ::= (\"a\""), ContainsSubstring(") is missing"));
  CHECK_THAT(refusal_of("root ::= \"a\" )"), ContainsSubstring("\")\" can't stand here"));
  CHECK_THAT(refusal_of("root = \"a\""), ContainsSubstring("::= is missing behind \"root\""));
  CHECK_THAT(refusal_of("root ::= \"a\"\nroot ::= \"b\""), ContainsSubstring("line 2: rule \"root\" is there twice"));
  CHECK_THAT(refusal_of("root ::= \"a\"{3,2}"), ContainsSubstring("less than the least"));
  CHECK_THAT(refusal_of("root ::= \"a\"{999999}"), ContainsSubstring("more than 100000 times"));
  CHECK_THAT(refusal_of("root ::= [z-a]"), ContainsSubstring("ends before it begins"));
  CHECK_THAT(refusal_of("root ::= []"), ContainsSubstring("no characters"));
  CHECK_THAT(refusal_of("root ::= \"\\q\""), ContainsSubstring("no escape \\q"));
  CHECK_THAT(refusal_of("root ::= \"\\ud800\""), ContainsSubstring("names no character"));
  CHECK_THAT(refusal_of("root ::= x \"b\" | \"a\"\nx ::= \"c\"? root"), ContainsSubstring("begins with itself"));
  CHECK_THAT(refusal_of("root ::= root \"a\" | \"b\""), ContainsSubstring("rule \"root\" begins with itself"));
  CHECK_THAT(refusal_of("root ::= " + std::string(300, '(')), ContainsSubstring("more than 200 deep"));
  CHECK_THAT(refusal_of("root ::= \"\xFF\""), ContainsSubstring("UTF-8"));
}

TEST_CASE("grammars that make many states are refused, or read in bounded memory", "[constraint][long]") {
  std::string large = "root ::= \"x\"";
  for (int i = 0; i < 20; ++i) large += fmt::format(" [{}]{{99999}}", static_cast<char>('a' + i));
  CHECK_THAT(refusal_of(large), ContainsSubstring("too large"));
  CHECK_THAT(refusal_of("root ::= \"" + std::string(3'000'000, 'x') + "\""), ContainsSubstring("bytes"));
  // Many ways to read one text: too many, and each once.
  const Grammar ambiguous = parse_gbnf("root ::= ((\"a\"?){999} \"b\"?){999}", "g");
  CHECK_THAT(error_of([&] { GrammarStates states(ambiguous); }), ContainsSubstring("ways to go on with a text"));
  GrammarStates many(parse_gbnf("root ::= ([a-z]?){20000}", "g"));
  CHECK(many.next(many.start(), "abcdef") != GrammarStates::nowhere);
  GrammarStates heavy(parse_gbnf("root ::= [a-z]* \"a\" [a-z]{18} \"!\"", "g"));
  CHECK_THAT(error_of([&] {
               std::mt19937 random(1);
               std::string text;
               for (int i = 0; i < 600'000; ++i) text += random() % 2 ? 'a' : 'b';
               heavy.next(heavy.start(), text);
             }),
             ContainsSubstring("too many states"));
  heavy.forget();
  CHECK(heavy.next(heavy.start(), "a12") == GrammarStates::nowhere);
}

TEST_CASE("integers in bounds are written as JSON writes them", "[constraint]") {
  std::mt19937 random(3);
  const auto bound = [&]() -> int64_t {
    const int64_t most[] = {2, 12, 130, 2000};
    return static_cast<int64_t>(random() % 4001) % most[random() % 4] * (random() % 2 ? 1 : -1);
  };
  for (int round = 0; round < 60; ++round) {
    const int64_t first = bound(), last = bound();
    const bool low = round % 5 != 0, high = round % 7 != 0;
    const std::string range =
        gbnf_of_integers(low ? std::optional(first) : std::nullopt, high ? std::optional(last) : std::nullopt);
    if (low && high && first > last) {
      CHECK(range.empty());
      continue;
    }
    GrammarStates states(parse_gbnf("root ::= " + range, "g"));
    int wrong = 0;
    for (int64_t number = -2200; number <= 2200; ++number) {
      const auto state = states.next(states.start(), std::to_string(number));
      const bool made = state != GrammarStates::nowhere && states.ends(state);
      wrong += made != ((!low || number >= first) && (!high || number <= last));
    }
    for (const char* text : {"", "-", "-0", "00", "01", "1.5", "+1"}) {
      const auto state = states.next(states.start(), text);
      wrong += state != GrammarStates::nowhere && states.ends(state);
    }
    CAPTURE(first, last, low, high, range);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a schema takes the JSON that it means", "[constraint]") {
  struct Trial {
    const char* schema;
    std::vector<std::string> good, bad;
  };
  const Trial trials[] = {
      {"{}", {R"({"a": [1, -2.5e3, "x\"\u00e9é", true, null]})", "[]", "{}", "7", "\"\""}, {"", "{a:1}", "[1,]", "01"}},
      {R"({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0},
           "tags": {"type": "array", "items": {"enum": ["x", "y", 3]}, "maxItems": 2}}, "required": ["name"]})",
       {R"({"name": "Ann"})", R"({"name":"","age":0})", "{\n  \"name\": \"A\",\n  \"tags\": [\"x\", 3]\n}",
        R"({ "name": "A", "age": 12, "tags": [] })"},
       {R"({})", R"({"age": 1})", R"({"name": "A", "age": -1})", R"({"age": 1, "name": "A"})",
        R"({"name": "A", "tags": ["z"]})", R"({"name": "A", "tags": ["x", "x", "x"]})", R"({"name": "A", "more": 1})",
        R"({"name": "A",})", R"({"name": 1})"}},
      {R"({"properties": {"a": {}, "b": {"type": "null"}}, "additionalProperties": {"type": "boolean"}})",
       {R"({})", R"({"b": null})", R"({"a": 1, "c": true})", R"({"c": true, "d": false})"},
       {R"({"c": 1})", R"({"a": 1 "b": null})"}},
      {R"({"properties": {"a": {"type": "integer"}, "ab]": {}}, "additionalProperties": {"type": "string"}})",
       {R"({"a": 1, "ab": "x", "": "y", "ab]c": "z", "b": ""})", R"({"é": "x"})"},
       {R"({"a": 1, "a": "x"})", R"({"a": "x"})", R"({"ab]": 1, "ab]": ""})"}},
      {R"({"type": "array", "prefixItems": [{"type": "null"}], "minItems": 3, "maxItems": 4})",
       {"[null,1,2]", "[null,1,2,3]"},
       {"[null]", "[null,1]", "[null,1,2,3,4]"}},
      {R"({"type": "object", "additionalProperties": {"type": "integer"}})",
       {"{}", R"({"x": 1, "y": 2})"},
       {R"({"x": ""})"}},
      {R"({"type": ["integer", "null"]})", {"5", "-17", "null"}, {"5.5", "\"5\"", "nul"}},
      {R"({"type": "array", "items": {"type": "boolean"}, "minItems": 2})",
       {"[true,false]", "[ true, true, true ]"},
       {"[]", "[true]"}},
      {R"({"type": "array", "prefixItems": [{"const": "a"}, {"type": "number"}], "items": false})",
       {R"(["a", 1.5])"},
       {R"(["a"])", R"(["a", 1, 2])"}},
      {R"({"type": "array", "maxItems": 0})", {"[]", "[ ]"}, {"[1]"}},
      {R"({"type": "string", "minLength": 2, "maxLength": 3})", {R"("ab")", R"("é\n漢")"}, {R"("a")", R"("abcd")"}},
      {R"({"type": "string", "pattern": "^[A-Z]{2}-\\d+(\\.x|y)?$"})",
       {R"("AB-1")", R"("AB-12.x")", R"("AB-1y")"},
       {R"("aB-1")", R"("AB-")", R"("AB-1z")", R"("AB-1xx")"}},
      {R"({"type": "string", "pattern": "^a|b$|^c$"})",
       {R"("ax")", R"("xb")", R"("c")"},
       {R"("xa")", R"("cx")", R"("bx")"}},
      {R"({"type": "string", "pattern": "^(|x)$|^$"})", {R"("")", R"("x")"}, {R"("y")"}},
      {R"({"type": "string", "pattern": "^[ -~]+$"})", {R"("a b~")"}, {R"("a"b")", R"("a\")", R"("")"}},
      {R"({"type": "string", "pattern": "^[^\\u0000-\\u007F]+$"})", {R"("é漢")"}, {R"("abc")"}},
      {R"({"type": "string", "pattern": "^[^\\x00-\\x1F]+[^!-\"]\\W$"})", {R"("a-b ")"}, {R"("a-!-")", R"("a-bc")"}},
      {R"({"type": "string", "pattern": "b+"})", {R"("b")", R"("abba")"}, {R"("")", R"("aa")"}},
      {R"({"type": "string", "format": "date-time"})",
       {R"("2026-11-28T09:30:00Z")"},
       {R"("2026-13-28T09:30:00Z")", R"("2026-11-28")"}},
      {R"({"type": "string", "format": "uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"}},
      {R"({"type": "integer", "exclusiveMinimum": 9, "maximum": 105})",
       {"10", "99", "105"},
       {"9", "106", "1000", "-20"}},
      {R"({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/tree"}], "$defs": {"tree": {"type": "object",
           "properties": {"of": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["of"]}}})",
       {"null", R"({"of": []})", R"({"of": [{"of": []}, {"of": [{"of": []}]}]})"},
       {R"({"of": [null]})", R"({"of": [{"of": []})"}},
      {R"({"const": {"a": ["x", 1]}})", {R"({"a":["x",1]})"}, {R"({"a":["x",2]})"}},
      {R"({"allOf": [{"type": "boolean"}], "title": "ignored", "description": "so is this"})", {"true"}, {"1"}},
  };
  for (const Trial& trial : trials) {
    INFO(trial.schema);
    for (const std::string& text : trial.good) {
      INFO(text);
      CHECK(takes(trial.schema, text));
    }
    for (const std::string& text : trial.bad) {
      INFO(text);
      CHECK_FALSE(takes(trial.schema, text));
    }
  }
}

TEST_CASE("what a schema says that would be ignored is refused by name and place", "[constraint]") {
  CHECK_THAT(schema_refusal(R"~({"type": "number", "minimum": 1})~"),
             ContainsSubstring("s: \"minimum\" is not supported"));
  CHECK_THAT(schema_refusal(R"~({"properties": {"a": {"type": "array", "uniqueItems": true}}})~"),
             ContainsSubstring("s, /properties/a: \"uniqueItems\" is not supported"));
  CHECK_THAT(schema_refusal(R"~({"type": "string", "format": "email"})~"), ContainsSubstring("format \"email\""));
  CHECK_THAT(schema_refusal(R"~({"type": "text"})~"), ContainsSubstring("no type \"text\""));
  CHECK_THAT(schema_refusal(R"~({"$ref": "#/$defs/x"})~"), ContainsSubstring("the schema has no \"/$defs/x\""));
  CHECK_THAT(schema_refusal(R"~({"$ref": "http://a/b"})~"), ContainsSubstring("must point into the schema"));
  CHECK_THAT(schema_refusal(R"~({"$ref": "#"})~"), ContainsSubstring("refers to itself"));
  CHECK_THAT(schema_refusal(R"~({"required": ["a"]})~"), ContainsSubstring("\"a\" is required, but no property"));
  CHECK_THAT(schema_refusal(R"~({"type": "integer", "minimum": 5, "maximum": 4})~"), ContainsSubstring("no integer"));
  CHECK_THAT(schema_refusal(R"~({"type": "string", "minLength": 5, "maxLength": 4})~"), ContainsSubstring("less than"));
  CHECK_THAT(schema_refusal(R"~({"enum": []})~"), ContainsSubstring("no list of values"));
  CHECK_THAT(schema_refusal(R"~({"allOf": [{}, {}]})~"), ContainsSubstring("/allOf"));
  CHECK_THAT(schema_refusal(R"~({"type": "string", "pattern": "a(?=b)"})~"), ContainsSubstring("not supported"));
  CHECK_THAT(schema_refusal(R"~({"type": "string", "pattern": "(a"})~"), ContainsSubstring("( without )"));
  CHECK_THAT(schema_refusal("[1]"), ContainsSubstring("holds an array"));
  CHECK_THAT(schema_refusal("{\"a\": }"), ContainsSubstring("line 1, column 7"));
  CHECK_THAT(schema_refusal(R"({"type": "array", "prefixItems": [{}, {}], "maxItems": 1})"),
             ContainsSubstring("2 items"));
  CHECK_THAT(schema_refusal(R"({"type": "array", "items": false, "minItems": 2})"), ContainsSubstring("0 items"));
  CHECK_THAT(schema_refusal(R"({"type": "array", "prefixItems": true})"), ContainsSubstring("no list"));
  CHECK_THAT(schema_refusal(R"({"type": "string", "pattern": "a{20000}"})"),
             ContainsSubstring("pattern: a number of times"));
  CHECK_THAT(schema_refusal(R"({"type": "string", "pattern": "[z-a]"})"), ContainsSubstring("before it begins"));
  CHECK_THAT(schema_refusal(R"({"type": "string", "pattern": "[\"]"})"), ContainsSubstring("writes as it is"));
  const std::string loop = gbnf_of_schema_text(
      R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})", "s");
  CHECK_THAT(error_of([&] { GrammarStates states(parse_gbnf(loop, "g")); }), ContainsSubstring("makes no text"));
  // Many long texts share what counts their characters.
  std::string many = R"({"properties": {)";
  for (int i = 0; i < 40; ++i)
    many += fmt::format(R"({}"p{}": {{"type": "string", "maxLength": 65535}})", i ? ", " : "", i);
  CHECK(parse_gbnf(gbnf_of_schema_text(many + "}}", "s"), "g").elements.size() < 400'000);
}
