#include "models/constraint/json_rules.h"

#include <fmt/core.h>

#include <cctype>
#include <set>
#include <string_view>

namespace vkformer {

namespace {

struct NamedRule {
  const char* name;
  const char* body;
};
constexpr NamedRule json_rules[] = {
    {"space", R"(" "? | "\n" [ \t]{0,20})"},  // behind commas, colons and what opens, and before what closes
    {"char", R"([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4}))"},
    {"chars", R"(char*)"},
    {"string", R"("\"" char* "\"")"},
    {"integer", R"("-"? ("0" | [1-9] [0-9]{0,17}))"},
    {"number", R"(integer ("." [0-9]{1,17})? ([eE] [-+]? [0-9]{1,3})?)"},
    {"boolean", R"("true" | "false")"},
    {"null", R"("null")"},
    {"value", R"(object | array | string | number | boolean | null)"},
    {"member", R"(string ":" space value)"},
    {"object", R"("{" space (member ("," space member)* space)? "}")"},
    {"array", R"("[" space (value ("," space value)* space)? "]")"},
    {"date", R"([0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01]))"},
    {"time",
     R"(([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [+-] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]))"},
    {"uuid", R"([0-9a-fA-F]{8} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{4} "-" [0-9a-fA-F]{12})"},
};

/// As a whole word.
bool mentions(const std::string& text, std::string_view rule) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; };
  for (size_t at = text.find(rule); at != text.npos; at = text.find(rule, at + 1)) {
    const bool begins = at == 0 || !is_word(text[at - 1]), ends = !is_word(text[at + rule.size()]);
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

std::string with_json_rules(std::string gbnf) {
  std::set<std::string_view> given;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [name, body] : json_rules) {
      if (given.contains(name) || !mentions(gbnf, name)) continue;
      gbnf += fmt::format("{} ::= {}\n", name, body);
      given.insert(name);
      more = true;
    }
  }
  return gbnf;
}

}  // namespace vkformer
