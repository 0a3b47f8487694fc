#pragma once
// Byte pair encoding learnt from text, as GPT-2's: tokens are byte strings.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vkformer {

struct BytePieces {
  /// By id, in GPT-2's alphabet (see byte_alphabet.h): the 256 bytes, in the order of their characters, then what was
  /// merged, best first.
  std::vector<std::string> tokens;
  std::vector<std::pair<std::string, std::string>> merges;  ///< left and right, best first
};

/// At most `size` tokens, which must be 256 or more; fewer where the texts do not have more. Words are what GPT-2's
/// expression makes of each text (UTF-8); no token reaches beyond one, nor is longer than 512 bytes. The same texts
/// give the same tokens.
BytePieces train_byte_pieces(std::span<const std::string> texts, int64_t size);

}  // namespace vkformer
