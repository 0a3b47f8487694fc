#include "models/constraint/pattern_grammar.h"

#include <fmt/core.h>

#include <vector>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

// Inside a JSON text's quotes these are written with a backslash; the rest as they are.
constexpr std::string_view plain = R"([^"\\\x7F\x00-\x1F])";

class PatternWriter {
 public:
  PatternWriter(std::string_view pattern, const std::string& name) : pattern_(pattern), name_(name) {}

  std::string write(std::string_view any_characters) {
    check(is_utf8(pattern_), "{}: it is not UTF-8", name_);
    const bool begins = take("^");
    const std::string body = alternatives(0);
    if (at_ < pattern_.size()) refuse(") without (");
    return fmt::format("{}({}){}", begins ? "" : fmt::format("{} ", any_characters), body,
                       ends_ ? "" : fmt::format(" {}", any_characters));
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

  /// A character as part of a class of GBNF.
  static std::string in_class(const std::string& character) {
    return std::string_view("\\]^-\"[").find(character) == std::string_view::npos ? character : "\\" + character;
  }
  /// Outside of classes, as JSON writes it.
  std::string literal(const std::string& character) const {
    if (character == "\"" || character == "\\") return fmt::format(R"("\\\{}")", character);
    if (static_cast<uint8_t>(character[0]) >= 0x20 && character != "\x7F") return fmt::format("\"{}\"", character);
    if (character == "\n") return R"("\\n")";
    if (character == "\t") return R"("\\t")";
    if (character == "\r") return R"("\\r")";
    return refuse("a control character"), "";
  }

  /// \d and the like, as what stands in a class; empty for an escaped character.
  static std::string_view class_of(char c) { return c == 'd' ? "0-9" : c == 'w' ? "a-zA-Z0-9_" : c == 's' ? " " : ""; }
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

  /// Of classes only what JSON writes as it is comes.
  std::string parse_class() {
    const bool others = take("^");
    std::string inside;
    bool first = true;
    for (; !take("]"); first = false) {
      if (at_ == pattern_.size()) refuse("[ without ]");
      if (take("\\")) {
        if (const auto named = class_of(peek()); !named.empty()) {
          ++at_;
          inside += named;
          continue;
        }
        inside += in_class_or_refuse(escaped(), others);
      } else if (peek() == '-' && (first || pattern_.substr(at_).starts_with("-]"))) {
        ++at_;
        inside += "\\-";
      } else {
        inside += in_class_or_refuse(take_character(), others);
      }
      if (peek() == '-' && !pattern_.substr(at_).starts_with("-]")) {
        ++at_;
        const bool escape = take("\\");
        if (escape && !class_of(peek()).empty()) refuse("a range that ends with a class");
        inside += "-" + in_class_or_refuse(escape ? escaped() : take_character(), others);
      }
    }
    if (others) return fmt::format(R"([^"\\\x7F\x00-\x1F{}])", inside);
    if (inside.empty()) refuse("a class without characters");
    return fmt::format("[{}]", inside);
  }
  std::string in_class_or_refuse(const std::string& character, bool others) const {
    const bool written_otherwise =
        character == "\"" || character == "\\" || static_cast<uint8_t>(character[0]) < 0x20 || character == "\x7F";
    if (!written_otherwise) return in_class(character);
    if (others) return "";  // is not among them anyway
    refuse("a class with a character that JSON escapes");
  }

  std::string item(int depth) {
    if (take("(")) {
      if (take("?") && !take(":")) refuse("(? that looks around");
      const std::string inside = alternatives(depth + 1);
      if (!take(")")) refuse("( without )");
      return fmt::format("({})", inside);
    }
    if (take("[")) return parse_class();
    if (take(".")) return std::string(plain);
    if (take("\\")) {
      if (const auto named = class_of(peek()); !named.empty()) {
        ++at_;
        return fmt::format("[{}]", named);
      }
      if (peek() == 'D' || peek() == 'W' || peek() == 'S') {
        const auto named = class_of(static_cast<char>(peek() - 'A' + 'a'));
        ++at_;
        return fmt::format(R"([^"\\\x7F\x00-\x1F{}])", named);
      }
      return literal(escaped());
    }
    if (std::string_view("*+?{^").find(peek()) != std::string_view::npos) refuse("something that can't stand here");
    return literal(take_character());
  }

  std::string alternatives(int depth) {
    if (depth > deepest) refuse("groups that are too deep");
    std::string text;
    while (at_ < pattern_.size() && peek() != ')') {
      if (take("|")) {
        text += " | ";
        continue;
      }
      if (peek() == '$') {
        ++at_;
        if (depth > 0 || at_ < pattern_.size()) refuse("a $ before the end");
        ends_ = true;
        break;
      }
      text += item(depth);
      if (take("*"))
        text += "*";
      else if (take("+"))
        text += "+";
      else if (take("?"))
        text += "?";
      else if (take("{")) {
        const size_t end = pattern_.find('}', at_);
        const std::string_view times = pattern_.substr(at_, end == pattern_.npos ? 0 : end - at_);
        if (times.empty() || times.find_first_not_of("0123456789,") != times.npos) refuse("a wrong number of times");
        text += fmt::format("{{{}}}", times);
        at_ = end + 1;
      }
      take("?");  // how a match is looked for is nothing here
      text += " ";
    }
    return text;
  }

  std::string_view pattern_;
  const std::string& name_;
  size_t at_ = 0;
  bool ends_ = false;
};

}  // namespace

std::string gbnf_of_pattern(std::string_view pattern, std::string_view any_characters, const std::string& name) {
  return PatternWriter(pattern, name).write(any_characters);
}

}  // namespace vkformer
