#pragma once
// Word error rate, by which speech recognition is judged, and the same of characters.

#include <cstdint>
#include <span>
#include <string>

namespace vkformer {

/// What an alignment of hypotheses with references costs. Sums over lines, so that each word weighs the same.
struct WordErrors {
  int64_t substitutions = 0;  ///< words with another one in their place
  int64_t deletions = 0;      ///< words of a reference that its hypothesis lacks
  int64_t insertions = 0;     ///< words of a hypothesis that its reference lacks
  int64_t words = 0;          ///< of all references

  int64_t errors() const { return substitutions + deletions + insertions; }
  /// (S + D + I) / words, as jiwer and Kaldi's compute-wer have it: 0 is best, above 1 is possible. Of references
  /// without any word, for which those have no rate, the errors themselves.
  double rate() const;
};

/// Of lines of valid UTF-8, each with its reference: words are what stands between white space (as split_words() has
/// it), compared as they are. Each line's alignment has the fewest errors (Levenshtein, 1966), and among such ones the
/// most right words; the sum S + D + I is that of any program, how others part it may differ by that last rule. Takes
/// time by the product of a line's words on both sides, memory by their sum. Throws Error unless there are as many
/// hypotheses as references, and at least one.
WordErrors count_word_errors(std::span<const std::string> references, std::span<const std::string> hypotheses);

/// The same of characters: code points, the white space between words among them, that at a line's ends not.
WordErrors count_character_errors(std::span<const std::string> references, std::span<const std::string> hypotheses);

}  // namespace vkformer
