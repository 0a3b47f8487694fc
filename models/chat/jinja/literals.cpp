#include "models/chat/jinja/literals.h"

#include <fmt/core.h>

#include <charconv>

#include "runtime/files/utf8.h"
#include "runtime/text_number.h"

namespace vkformer::jinja {

namespace {

bool is_digit_of(char c, int base) {
  if (c >= '0' && c <= '9') return c - '0' < base;
  return base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
}

/// Behind digits with single underscores between them, which are left out of `digits`; `at` where there are none.
size_t behind_digits(std::string_view text, size_t at, int base, std::string& digits, bool underscore_first = false) {
  while (at < text.size()) {
    if (is_digit_of(text[at], base))
      digits += text[at++];
    else if (text[at] == '_' && (!digits.empty() || underscore_first) && at + 1 < text.size() &&
             is_digit_of(text[at + 1], base))
      ++at;
    else
      break;
  }
  return at;
}

NumberLiteral whole_number(size_t length, const std::string& digits, int base) {
  NumberLiteral literal{.length = length};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), literal.integer, base);
  if (error != std::errc() || end != digits.data() + digits.size()) literal.length = 0;
  return literal;
}

}  // namespace

NumberLiteral read_number(std::string_view text, bool with_fraction) {
  std::string digits;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (base > 0) {
      const size_t end = behind_digits(text, 2, base, digits, true);
      if (!digits.empty()) return whole_number(end, digits, base);
    }
  }
  size_t end = behind_digits(text, 0, 10, digits);
  std::string number = digits;
  const size_t whole_end = end;
  if (with_fraction) {
    std::string fraction, exponent;
    if (end + 1 < text.size() && text[end] == '.') {
      const size_t behind = behind_digits(text, end + 1, 10, fraction);
      if (!fraction.empty()) end = behind;
    }
    if (end < text.size() && (text[end] | 0x20) == 'e') {
      size_t at = end + 1;
      const bool negative = at < text.size() && text[at] == '-';
      if (negative || (at < text.size() && text[at] == '+')) ++at;
      const size_t behind = behind_digits(text, at, 10, exponent);
      if (!exponent.empty()) end = behind;
      if (!exponent.empty() && negative) exponent.insert(0, "-");
    }
    if (end > whole_end) {
      if (!fraction.empty()) number += "." + fraction;
      if (!exponent.empty()) number += "e" + exponent;
      const std::optional<double> floating = number_in<double>(number);
      return {.length = floating ? end : 0, .whole = false, .floating = floating.value_or(0)};
    }
  }
  // A number with a zero in front ends behind its zeros: what follows would be another, and nothing takes two.
  if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != digits.npos) return {};
  return whole_number(whole_end, digits, 10);
}

std::string unescape(std::string_view text, std::string& result) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      result += text[at++];
      continue;
    }
    const char mark = text[at + 1];  // the text's end is no backslash: it would have taken the quote
    at += 2;
    constexpr std::string_view marks = "nrtabfv\\'\"", meanings = "\n\r\t\a\b\f\v\\'\"";
    if (const size_t found = marks.find(mark); found != marks.npos) {
      result += meanings[found];
    } else if (mark == 'x' || mark == 'u' || mark == 'U') {
      const size_t length = mark == 'x' ? 2 : mark == 'u' ? 4 : 8;
      const std::string_view digits = text.substr(at, length);
      uint32_t code = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      if (digits.size() < length || error != std::errc() || end != digits.data() + length)
        return fmt::format("\\{} has no {} hexadecimal digits behind it", mark, length);
      if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return fmt::format("\\{}{} is no character", mark, digits);
      append_utf8(result, static_cast<char32_t>(code));
      at += length;
    } else if (mark >= '0' && mark <= '7') {
      uint32_t code = static_cast<uint32_t>(mark - '0');
      for (int i = 0; i < 2 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++i)
        code = code * 8 + static_cast<uint32_t>(text[at++] - '0');
      append_utf8(result, static_cast<char32_t>(code));
    } else if (mark == 'N') {
      return "\\N{..} is not supported";
    } else if (mark != '\n') {  // which a backslash takes away
      result.append("\\").append(1, mark);
    }
  }
  return {};
}

}  // namespace vkformer::jinja
