#include "models/chat/jinja/lexer.h"

#include <algorithm>

#include "models/chat/jinja/literals.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

/// Line ends are \n; the last one is no part of a template.
std::string normalized(std::string_view source) {
  std::string text;
  for (size_t at = 0; at < source.size(); ++at) {
    if (source[at] != '\r') {
      text += source[at];
      continue;
    }
    text += '\n';
    if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view name) : source_(normalized(source)), name_(name) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) root();
    add(Token::Kind::end);
    return std::move(tokens_);
  }

 private:
  template <class... T>
  [[noreturn]] void refuse(fmt::format_string<T...> format, T&&... arguments) const {
    fail("{}, line {}: {}", name_, line_, fmt::format(format, std::forward<T>(arguments)...));
  }

  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool next_is(std::string_view text) const { return rest().starts_with(text); }

  void advance(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    // What a block eats behind it may end a line: lstrip_blocks asks.
    if (to > at_) line_starts_ = source_[to - 1] == '\n';
    at_ = to;
  }

  size_t behind_spaces(size_t at) const {
    while (at < source_.size()) {
      const Utf8Step step = read_utf8(source_, at);
      if (!is_space(step.code_point)) break;
      at += step.length;
    }
    return at;
  }

  void add(Token::Kind kind, std::string text = {}) {
    tokens_.push_back({.kind = kind, .line = line_, .text = std::move(text)});
  }

  void add_data(std::string_view text) {
    if (!text.empty()) add(Token::Kind::data, std::string(text));
  }

  /// Data before a tag that begins at `end` with `sign` (-, + or none) behind its opening.
  std::string_view data_before(size_t end, char sign, bool variable) const {
    std::string_view data = std::string_view(source_).substr(at_, end - at_);
    if (sign == '-') return strip(data, Side::right);
    if (sign == '+' || variable) return data;
    // lstrip_blocks: blanks between the begin of a line and the tag.
    const size_t newline = data.rfind('\n');
    if (newline == data.npos && !line_starts_) return data;
    const size_t begin = newline == data.npos ? 0 : newline + 1;
    return strip(data.substr(begin), Side::both).empty() ? data.substr(0, begin) : data;
  }

  /// Text up to a tag, and the tag.
  void root() {
    size_t begin = at_;
    while (true) {
      begin = source_.find('{', begin);
      if (begin == source_.npos || begin + 1 == source_.size()) {
        add_data(rest());
        return advance(source_.size());
      }
      const char kind = source_[begin + 1];
      if (kind == '{' || kind == '%' || kind == '#') break;
      ++begin;
    }
    const char kind = source_[begin + 1];
    size_t inside = begin + 2;
    const char sign =
        inside < source_.size() && (source_[inside] == '-' || source_[inside] == '+') ? source_[inside] : ' ';
    if (sign != ' ') ++inside;
    add_data(data_before(begin, sign, kind == '{'));
    if (kind == '%') {
      if (const size_t body = raw_body(inside); body != source_.npos) return raw(body);
    }
    advance(inside);
    if (kind == '#') return comment();
    add(kind == '{' ? Token::Kind::variable_begin : Token::Kind::block_begin);
    tag(kind == '{');
  }

  /// Where the body of "{% raw %}" begins, its opening being before `at`; npos where this is another tag.
  size_t raw_body(size_t at) const {
    at = behind_spaces(at);
    const std::string_view text(source_);
    if (!text.substr(at).starts_with("raw")) return source_.npos;
    at = behind_spaces(at + 3);
    if (text.substr(at).starts_with("%}")) return at + 2;
    return text.substr(at).starts_with("-%}") ? behind_spaces(at + 3) : source_.npos;
  }

  /// Behind the end of a block: an end with a - eats all blanks, any other but one with a + a line end. 0: no end here.
  size_t behind_end(size_t at, std::string_view end) const {
    const std::string_view text = std::string_view(source_).substr(at);
    const auto eats_line = [&](size_t behind) { return behind + (behind < source_.size() && source_[behind] == '\n'); };
    if (text.starts_with("-") && text.substr(1).starts_with(end)) return behind_spaces(at + 1 + end.size());
    if (text.starts_with("+") && text.substr(1).starts_with(end)) return at + 1 + end.size();
    return text.starts_with(end) ? eats_line(at + end.size()) : 0;
  }

  void raw(size_t body) {
    advance(body);
    for (size_t begin = source_.find("{%", at_); begin != source_.npos; begin = source_.find("{%", begin + 2)) {
      size_t at = begin + 2;
      const char sign = at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : ' ';
      at = behind_spaces(at + (sign != ' '));
      if (!std::string_view(source_).substr(at).starts_with("endraw")) continue;
      const size_t behind = behind_end(behind_spaces(at + 6), "%}");
      if (behind == 0) continue;
      add_data(data_before(begin, sign, false));
      return advance(behind);
    }
    refuse("a raw block has no end");
  }

  void comment() {
    const size_t end = source_.find("#}", at_);
    if (end == source_.npos) refuse("a comment has no end");
    const bool signed_end = end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+');
    advance(behind_end(end - signed_end, "#}"));
  }

  /// Tokens up to the end of a {{ }} or {% %}; brackets in it balance.
  void tag(bool variable) {
    std::string brackets;
    while (true) {
      advance(behind_spaces(at_));
      if (at_ == source_.size()) refuse("a tag has no end");
      if (brackets.empty()) {
        size_t behind = behind_end(at_, variable ? "}}" : "%}");
        if (variable && behind > 0) behind = next_is("-") ? behind : next_is("+") ? 0 : at_ + 2;
        if (behind > 0) {
          add(variable ? Token::Kind::variable_end : Token::Kind::block_end);
          return advance(behind);
        }
      }
      const char c = source_[at_];
      if (c >= '0' && c <= '9')
        number();
      else if (is_name_character(c))
        name();
      else if (c == '"' || c == '\'')
        text(c);
      else
        symbol(brackets);
    }
  }

  void name() {
    size_t end = at_;
    while (end < source_.size() && is_name_character(source_[end])) ++end;
    if (end < source_.size() && static_cast<uint8_t>(source_[end]) >= 0x80)
      refuse("names have no characters outside ASCII");
    add(Token::Kind::name, source_.substr(at_, end - at_));
    advance(end);
  }

  void text(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) refuse("a text has no end");
    std::string value;
    const std::string problem = unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1), value);
    if (!problem.empty()) refuse("{}", problem);
    add(Token::Kind::text, std::move(value));
    advance(end + 1);
  }

  void number() {
    // Jinja knows no float behind a dot: a.1.2 is two items.
    const bool behind_dot = at_ > 0 && source_[at_ - 1] == '.';
    const NumberLiteral literal = read_number(rest(), !behind_dot);
    if (literal.length == 0) refuse("{} is no number of 64 bits", in_quotes(rest().substr(0, 20)));
    add(literal.whole ? Token::Kind::integer : Token::Kind::floating, std::string(rest().substr(0, literal.length)));
    tokens_.back().integer = literal.integer;
    tokens_.back().floating = literal.floating;
    advance(at_ + literal.length);
  }

  void symbol(std::string& brackets) {
    for (const std::string_view symbol : {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                          "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"}) {
      if (!next_is(symbol)) continue;
      constexpr std::string_view opening = "([{", closing = ")]}";
      if (const size_t open = opening.find(symbol[0]); open != opening.npos) brackets += closing[open];
      if (closing.find(symbol[0]) != closing.npos) {
        if (brackets.empty() || brackets.back() != symbol[0]) refuse("'{}' closes nothing", symbol);
        brackets.pop_back();
      }
      add(Token::Kind::symbol, std::string(symbol));
      return advance(at_ + symbol.size());
    }
    refuse("{} means nothing here", in_quotes(rest().substr(0, read_utf8(source_, at_).length)));
  }

  std::string source_;
  std::string_view name_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source, std::string_view name) {
  for (size_t at = 0; at < source.size();) {
    const Utf8Step step = read_utf8(source, at);
    check(step.valid, "{} is not UTF-8: byte {} is 0x{:02X}", name, at, static_cast<uint8_t>(source[at]));
    at += step.length;
  }
  return Lexer(source, name).run();
}

}  // namespace vkformer::jinja
