// Format: the size of the trie in bytes (u32, little endian), the trie, and the replacements, each ended by a zero
// byte. The trie is a double array of the library Darts-clone, one u32 a unit. A unit's fields:
//   bits 0-7 and 31: the byte that leads here, bit 31 clear; bit 8: a value follows
//   bits 10-30: from where the children are, XORed with the unit's own place (times 256 if bit 9 is set)
// The child for byte b is at (children ^ b), the value, an offset into the replacements, at (children ^ 0).

#include "models/text/precompiled_charsmap.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

/// Clusters of this many bytes and more are replaced character by character only.
constexpr size_t cluster_limit = 6;

int value_of_base64(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

uint32_t read_u32(std::string_view bytes, size_t offset) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

uint32_t children_of(uint32_t unit, uint32_t place) { return place ^ ((unit >> 10) << ((unit & 0x200) >> 6)); }

/// The grapheme clusters of a text, one after the other.
class Clusters {
 public:
  explicit Clusters(std::string_view text) {
    check(text.size() <= size_t{INT32_MAX}, "a text of {} bytes is too long to be normalized at once; split it",
          text.size());
    text_.reset(utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status_));
    breaks_.reset(ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &status_));
    ubrk_setUText(breaks_.get(), text_.get(), &status_);
    check(U_SUCCESS(status_), "ICU cannot find the characters of a text ({}); check its installation",
          u_errorName(status_));
  }
  /// The end of the next cluster.
  std::optional<size_t> next() {
    const int32_t end = ubrk_next(breaks_.get());
    return end == UBRK_DONE ? std::nullopt : std::optional(static_cast<size_t>(end));
  }

 private:
  struct Close {
    void operator()(UText* text) const { utext_close(text); }
    void operator()(UBreakIterator* breaks) const { ubrk_close(breaks); }
  };
  UErrorCode status_ = U_ZERO_ERROR;
  std::unique_ptr<UText, Close> text_;
  std::unique_ptr<UBreakIterator, Close> breaks_;
};

}  // namespace

std::string from_base64(std::string_view text) {
  check(text.size() % 4 == 0, "precompiled_charsmap: {} characters are no whole base64 text; the file is damaged",
        text.size());
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    const int value = value_of_base64(digits[i]);
    check(value >= 0, "precompiled_charsmap: character {} is not of base64; the file is damaged", i);
    bits = (bits << 6) | static_cast<uint32_t>(value);
    // The k-th of four digits completes a byte, unless it is the first.
    if (i % 4 != 0) bytes.push_back(static_cast<char>(bits >> (6 - 2 * (i % 4))));
  }
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits = (bits << 8) | (i < count ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? digits[(bits >> (18 - 6 * i)) & 63] : '=';
  }
  return text;
}

PrecompiledCharsmap::PrecompiledCharsmap(std::string_view base64) {
  const std::string bytes = from_base64(base64);
  check(bytes.size() >= 4, "precompiled_charsmap: {} bytes are too few; the file is damaged", bytes.size());
  const size_t trie_size = read_u32(bytes, 0);
  check(trie_size >= 4 && trie_size % 4 == 0 && trie_size <= bytes.size() - 4,
        "precompiled_charsmap: a trie of {} bytes does not fit into {} bytes; the file is damaged", trie_size,
        bytes.size());
  for (size_t offset = 4; offset < 4 + trie_size; offset += 4) trie_.push_back(read_u32(bytes, offset));
  replacements_ = bytes.substr(4 + trie_size);
  for (size_t at = 0; at < replacements_.size();) {
    const Utf8Step character = read_utf8(replacements_, at);
    check(character.valid, "precompiled_charsmap: its replacements are not UTF-8; the file is damaged");
    at += character.length;
  }
}

std::optional<std::string_view> PrecompiledCharsmap::replacement(std::string_view text) const {
  const auto unit_at = [&](uint32_t place) {
    check(place < trie_.size(), "precompiled_charsmap: its trie points outside itself; the file is damaged");
    return trie_[place];
  };
  uint32_t place = children_of(unit_at(0), 0);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == 0) break;
    place ^= byte;
    const uint32_t unit = unit_at(place);
    if ((unit & 0x800000FF) != byte) break;
    place = children_of(unit, place);
    if ((unit & 0x100) == 0) continue;
    const size_t start = unit_at(place) & 0x7FFFFFFF;
    const bool in_character = start < replacements_.size() && (replacements_[start] & 0xC0) == 0x80;
    check(start <= replacements_.size() && !in_character,
          "precompiled_charsmap: a replacement starts outside the list of them; the file is damaged");
    const std::string_view rest = std::string_view(replacements_).substr(start);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

void PrecompiledCharsmap::normalize(TextPart& part) const {
  const std::string_view text = part.text;
  Rewriting rewriting(part);
  rewriting.text.reserve(text.size());
  Clusters clusters(text);
  size_t start = 0;
  while (const auto end = clusters.next()) {
    const std::string_view cluster = text.substr(start, *end - start);
    if (const auto whole = cluster.size() < cluster_limit ? replacement(cluster) : std::nullopt) {
      rewriting.text += *whole;
      rewriting.from({start, *end});
      start = *end;
      continue;
    }
    while (start < *end) {
      const std::string_view character = text.substr(start, read_utf8(text.substr(0, *end), start).length);
      rewriting.text += replacement(character).value_or(character);
      rewriting.from({start, start + character.size()});
      start += character.size();
    }
  }
  rewriting.finish();
}

}  // namespace vkformer
