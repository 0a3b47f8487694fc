#include "runtime/files/utf8.h"

#include <fmt/core.h>

#include <cstdint>

namespace vkformer {
namespace {

bool is_control_code(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

bool disturbs_a_line(char32_t c) {
  return is_control_code(c) || c == 0x2028 || c == 0x2029 || (c >= 0x200E && c <= 0x200F) ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/// The character, or its number where it may not stand there; invalid bytes as numbers. DEL and what is beyond ASCII as
/// JSON writes them, which does not escape them of itself.
void append_escaped(std::string& out, const Utf8Step& step, std::string_view bytes, bool escape) {
  if (step.valid && !escape) {
    out += bytes;
  } else if (step.valid && step.code_point >= 0x7F) {
    out += fmt::format("\\u{:04x}", static_cast<uint32_t>(step.code_point));
  } else {
    for (const char c : bytes) out += fmt::format("\\x{:02X}", static_cast<uint8_t>(c));
  }
}

}  // namespace

Utf8Step read_utf8(std::string_view text, size_t offset) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[offset + i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true, false};
  // The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF (Unicode, table 3-7).
  size_t length = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (length == 0) return {0, 1, false, false};
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  char32_t code_point = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (offset + i >= text.size()) return {0, i, false, true};
    if (byte(i) < low || byte(i) > high) return {0, i, false, false};
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code_point, length, true, false};
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (!step.valid) return false;
    at += step.length;
  }
  return true;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

std::string_view way_to_utf8(std::string_view text) {
  const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  return utf16 ? "it looks like UTF-16; convert it to UTF-8, as by: iconv -f UTF-16 -t UTF-8 FILE"
               : "convert it to UTF-8, as by: iconv -f WINDOWS-1252 -t UTF-8 FILE";
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (out.size() >= limit) return out + "...";
    const Utf8Step step = read_utf8(text, at);
    const std::string_view bytes = text.substr(at, step.length);
    if (step.valid && step.code_point == '\n')
      out += "\\n";
    else if (step.valid && step.code_point == '\t')
      out += "\\t";
    else
      append_escaped(out, step, bytes, disturbs_a_line(step.code_point));
    at += step.length;
  }
  return out;
}

std::string for_terminal(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    const bool layout = step.code_point == '\n' || step.code_point == '\t';
    append_escaped(out, step, text.substr(at, step.length), is_control_code(step.code_point) && !layout);
    at += step.length;
  }
  return out;
}

std::string in_quotes(std::string_view text, size_t limit) { return '"' + printable(text, limit) + '"'; }

}  // namespace vkformer
