#pragma once
// The normalization rules that sentencepiece compiles into its models.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/text_part.h"

namespace vkformer {

/// The "precompiled_charsmap" of a normalizer of type Precompiled: a double-array trie from byte strings to their
/// replacements. Behaves as Precompiled of the tokenizers library, which replaces grapheme clusters, then characters.
class PrecompiledCharsmap {
 public:
  /// Throws Error when it is not base64 or its parts do not fit.
  explicit PrecompiledCharsmap(std::string_view base64);
  /// Grapheme clusters shorter than 6 bytes are looked up whole, then, as all others, character by character. What is
  /// looked up is replaced when an entry is a prefix of it, by the shortest such entry's replacement. Throws Error
  /// where the trie proves to be damaged.
  void normalize(TextPart& part) const;

 private:
  /// What replaces `text`, a cluster or a character.
  std::optional<std::string_view> replacement(std::string_view text) const;

  std::vector<uint32_t> trie_;
  std::string replacements_;  ///< ended by zero bytes
};

/// Bytes as base64, in which tokenizer.json has a charsmap.
std::string to_base64(std::string_view bytes);
/// The way back. Throws Error for what is not base64.
std::string from_base64(std::string_view text);

}  // namespace vkformer
