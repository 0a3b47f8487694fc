#pragma once
// The ways in which byte-level tokenizers split words, by what GGUF files call them (tokenizer.ggml.pre): as data.

#include <string_view>
#include <vector>

namespace vkformer {

struct WordSplitter {
  std::vector<std::string_view> names;        ///< the first is what is written
  std::vector<std::string_view> expressions;  ///< one after the other; none: GPT-2's
  bool ignore_merges = false;                 ///< a word that is a token stays one
  bool add_bos = false;                       ///< where the file does not say
  bool nfc = false;                           ///< texts are normalised
};

/// GPT-2's, and one digit, as Hugging Face's files have them.
inline constexpr std::string_view gpt2_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view digit_expression = R"(\p{N})";

const std::vector<WordSplitter>& word_splitters();

}  // namespace vkformer
