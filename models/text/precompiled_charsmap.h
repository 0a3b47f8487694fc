#pragma once
// The normalization rules that sentencepiece compiles into its models.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// The "precompiled_charsmap" of a normalizer of type Precompiled: a double-array trie from byte strings to their
/// replacements. Behaves as Precompiled of the tokenizers library, which replaces grapheme clusters, then characters.
class PrecompiledCharsmap {
 public:
  /// Throws Error when it is not base64 or its parts do not fit.
  explicit PrecompiledCharsmap(std::string_view base64);
  std::string normalize(std::string_view text) const;

 private:
  std::vector<uint32_t> trie_;
  std::string replacements_;  ///< ended by zero bytes
};

}  // namespace vkformer
