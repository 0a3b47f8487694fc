#include "models/constraint/pattern_grammar.h"

#include <fmt/core.h>

#include <optional>

#include "models/constraint/grammar.h"
#include "models/constraint/utf8_ranges.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

// What a JSON text writes with a backslash inside its quotes.
const CodePoints escaped_in_json{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}};

class PatternWriter {
 public:
  PatternWriter(std::string_view pattern, const std::string& name) : pattern_(pattern), name_(name) {}

  std::string write(std::string_view any_characters) {
    check(is_utf8(pattern_), "{}: it is not UTF-8", name_);
    std::string text;
    do {  // each alternative has anchors of its own
      const bool begins = take("^");
      const std::string body = sequence(0);
      const bool ends = take("$");
      text += fmt::format("{}{}({}){}", text.empty() ? "" : " | ", begins ? "" : fmt::format("{} ", any_characters),
                          body, ends ? "" : fmt::format(" {}", any_characters));
    } while (take("|"));
    if (at_ < pattern_.size()) refuse(peek() == ')' ? ") without (" : "a $ before the end");
    return text;
  }

 private:
  static constexpr int deepest = 100;

  [[noreturn]] void refuse(std::string_view why) const {
    fail("{}: {} in {} at character {}: patterns are groups, classes, alternatives and repetitions", name_, why,
         in_quotes(pattern_), at_ + 1);
  }

  char peek() const { return at_ < pattern_.size() ? pattern_[at_] : '\0'; }
  bool take(std::string_view what) {
    if (!pattern_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  std::string take_character() {
    const size_t length = read_utf8(pattern_, at_).length;
    at_ += length;
    return std::string(pattern_.substr(at_ - length, length));
  }

  /// Outside of classes, as JSON writes it.
  std::string literal(const std::string& character) const {
    if (character == "\"" || character == "\\") return gbnf_literal("\\" + character);
    if (static_cast<uint8_t>(character[0]) >= 0x20 && character != "\x7F") return gbnf_literal(character);
    if (character == "\n") return gbnf_literal("\\n");
    if (character == "\t") return gbnf_literal("\\t");
    if (character == "\r") return gbnf_literal("\\r");
    refuse("a control character");
  }

  /// \d and the like; nothing for an escaped character.
  std::optional<CodePoints> take_named_class() {
    const CodePoints digits{{'0', '9'}}, letters{{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'_', '_'}},
        white{{' ', ' '}, {'\t', '\r'}};
    const char c = peek();
    const CodePoints* named = c == 'd' || c == 'D'   ? &digits
                              : c == 'w' || c == 'W' ? &letters
                              : c == 's' || c == 'S' ? &white
                                                     : nullptr;
    if (!named) return std::nullopt;
    ++at_;
    return c >= 'a' ? *named : complement(*named);
  }
  std::string escaped() {
    if (at_ == pattern_.size()) refuse("a \\ at the end");
    const char c = peek();
    if (c == 'u' || c == 'x') {
      ++at_;
      const size_t count = c == 'u' ? 4 : 2;
      const std::string digits(pattern_.substr(at_, count));
      if (digits.size() < count || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        refuse("an escape without its digits");
      at_ += count;
      std::string character;
      const auto value = static_cast<char32_t>(std::stoul(digits, nullptr, 16));
      if (value >= 0xD800 && value < 0xE000) refuse("half of a character");
      append_utf8(character, value);
      return character;
    }
    if (c == 'n') return ++at_, "\n";
    if (c == 't') return ++at_, "\t";
    if (c == 'r') return ++at_, "\r";
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) refuse("an unknown escape");
    return take_character();
  }

  static char32_t code_point_of(const std::string& character) { return read_utf8(character, 0).code_point; }

  CodePoints parse_class() {
    const bool others = take("^");
    CodePoints ranges;
    while (!take("]")) {
      if (at_ == pattern_.size()) refuse("[ without ]");
      const bool escape = take("\\");
      if (escape) {
        if (const auto named = take_named_class()) {
          ranges.insert(ranges.end(), named->begin(), named->end());
          continue;
        }
      }
      const char32_t first = code_point_of(escape ? escaped() : take_character());
      char32_t last = first;
      if (peek() == '-' && !pattern_.substr(at_).starts_with("-]")) {
        ++at_;
        if (at_ == pattern_.size()) refuse("[ without ]");
        const bool escaped_end = take("\\");
        if (escaped_end && take_named_class()) refuse("a range that ends with a class");
        last = code_point_of(escaped_end ? escaped() : take_character());
        if (last < first) refuse("a range that ends before it begins");
      }
      ranges.emplace_back(first, last);
    }
    return others ? complement(std::move(ranges)) : ranges;
  }

  /// Those of them that JSON writes as they are, as a class of GBNF.
  std::string class_text(const CodePoints& ranges) const {
    CodePoints left_out = complement(ranges);
    left_out.insert(left_out.end(), escaped_in_json.begin(), escaped_in_json.end());
    const CodePoints plain = complement(std::move(left_out));
    if (plain.empty()) refuse("a class without a character that JSON writes as it is");
    std::string text;
    for (const auto& [first, last] : plain)
      text += fmt::format("\\U{:08x}-\\U{:08x}", static_cast<uint32_t>(first), static_cast<uint32_t>(last));
    return "[" + text + "]";
  }

  /// {n}, {n,} or {n,m}
  std::string parse_times() {
    constexpr int64_t most = 10'000;
    const auto number = [&] {
      int64_t count = -1;
      for (; peek() >= '0' && peek() <= '9' && count <= most; ++at_)
        count = 10 * std::max<int64_t>(count, 0) + (peek() - '0');
      if (count < 0 || count > most) refuse(fmt::format("a number of times that is none from 0 to {}", most));
      return count;
    };
    const int64_t least = number();
    if (take("}")) return fmt::format("{{{}}}", least);
    if (!take(",")) refuse("{ without }");
    if (take("}")) return fmt::format("{{{},}}", least);
    const int64_t last = number();
    if (last < least) refuse("a largest number of times that is less than the least");
    if (!take("}")) refuse("{ without }");
    return fmt::format("{{{},{}}}", least, last);
  }

  std::string item(int depth) {
    if (take("(")) {
      if (take("?") && !take(":")) refuse("(?, which is not supported,");
      const std::string inside = alternatives(depth + 1);
      if (!take(")")) refuse("( without )");
      return fmt::format("({})", inside);
    }
    if (take("[")) return class_text(parse_class());
    if (take(".")) return class_text({{0, 0x10FFFF}});
    if (take("\\")) {
      if (const auto named = take_named_class()) return class_text(*named);
      return literal(escaped());
    }
    if (std::string_view("*+?{^").find(peek()) != std::string_view::npos) refuse("something that can't stand here");
    return literal(take_character());
  }

  std::string alternatives(int depth) {
    if (depth > deepest) refuse("groups that are too deep");
    std::string text = sequence(depth);
    while (take("|")) text += "| " + sequence(depth);
    return text;
  }

  std::string sequence(int depth) {
    std::string text;
    while (at_ < pattern_.size() && peek() != ')' && peek() != '|' && peek() != '$') {
      text += item(depth);
      if (take("*"))
        text += "*";
      else if (take("+"))
        text += "+";
      else if (take("?"))
        text += "?";
      else if (take("{"))
        text += parse_times();
      take("?");  // how a match is looked for is nothing here
      text += " ";
    }
    if (depth > 0 && peek() == '$') refuse("a $ before the end");
    return text;
  }

  std::string_view pattern_;
  const std::string& name_;
  size_t at_ = 0;
};

}  // namespace

std::string gbnf_of_pattern(std::string_view pattern, std::string_view any_characters, const std::string& name) {
  return PatternWriter(pattern, name).write(any_characters);
}

}  // namespace vkformer
