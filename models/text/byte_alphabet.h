#pragma once
// GPT-2's alphabet for bytes: one printable character each, so that any byte string is a text without blanks.

#include <array>
#include <cstdint>

namespace vkformer {

/// The character that stands for each byte: printable Latin-1 bytes stand for themselves, the others follow U+0100.
/// Source: bytes_to_unicode() of GPT-2, ByteLevel of Hugging Face tokenizers.
constexpr std::array<char32_t, 256> byte_alphabet() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = printable ? byte : next++;
  }
  return characters;
}

}  // namespace vkformer
