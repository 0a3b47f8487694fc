#pragma once
// Words as sub-words: texts of words that have a tag each, in windows that a model can take.

#include "models/data/token_texts.h"

namespace vkformer {

struct WordWindows {
  /// Neighbouring words of one text.
  struct Window {
    size_t text = 0;
    size_t first_word = 0;
    std::vector<int32_t> positions;  ///< of each word's first sub-word
  };

  TokenTexts texts;             ///< one a window, with the tokenizer's special tokens
  std::vector<Window> windows;  ///< in the order of the texts and their words
  size_t text_count = 0;
  int64_t split = 0;  ///< texts that need several windows

  /// Adds a text. Each word is encoded as one behind a blank, as transformers does (is_split_into_words); one that the
  /// tokenizer drops is unknown. A window has at most `most` tokens; the next one begins with the next word. Of a word
  /// that is longer alone the end is left out. A text without words has no window. Throws Error, which begins with
  /// `place`, for what is not UTF-8, and for a dropped word where the tokenizer has no token for unknowns.
  void add(const Tokenizer& tokenizer, const std::vector<std::string>& words, int64_t most, std::string_view place);
  /// For each token of each window the class of the word that begins there, else what is ignored. `classes`: of each
  /// word, text by text.
  std::vector<std::vector<int32_t>> targets(const std::vector<std::vector<int32_t>>& classes) const;
};

/// The words of a line: what lies between blanks and tabs.
std::vector<std::string> words_of_line(std::string_view line);

}  // namespace vkformer
