#include "models/score/word_errors.h"

#include <algorithm>
#include <vector>

#include "models/score/segments.h"
#include "models/text/unicode.h"

namespace vkformer {

namespace {

/// Errors of one line. An alignment's cost is one number, with an error in the high half and a substitution in the low
/// half too: the least of them has the fewest errors, and of those the fewest substitutions. That is the most right
/// words: of as many errors, a deletion and an insertion in place of two substitutions leave one word more right.
template <class Words>
WordErrors align(const Words& reference, const Words& hypothesis) {
  constexpr uint64_t error = uint64_t{1} << 32, substitution = error + 1;
  // costs[j]: of the reference's words so far, and the first j of the hypothesis.
  std::vector<uint64_t> costs(hypothesis.size() + 1);
  for (size_t j = 0; j < costs.size(); ++j) costs[j] = j * error;
  for (const auto& word : reference) {
    uint64_t diagonal = costs[0];
    costs[0] += error;
    for (size_t j = 1; j < costs.size(); ++j) {
      const uint64_t paired = diagonal + (word == hypothesis[j - 1] ? 0 : substitution);
      diagonal = costs[j];
      costs[j] = std::min({paired, costs[j] + error, costs[j - 1] + error});
    }
  }
  const auto errors = static_cast<int64_t>(costs.back() >> 32);
  const auto substitutions = static_cast<int64_t>(costs.back() & 0xffffffff);
  const int64_t missing = std::ssize(reference) - std::ssize(hypothesis);  // deletions less insertions
  const int64_t others = errors - substitutions;                           // deletions and insertions
  return {.substitutions = substitutions,
          .deletions = (others + missing) / 2,
          .insertions = (others - missing) / 2,
          .words = std::ssize(reference)};
}

template <class Split>
WordErrors count_errors(std::span<const std::string> references, std::span<const std::string> hypotheses,
                        const Split& split) {
  check_pairs(references, hypotheses);
  WordErrors sum;
  for (size_t i = 0; i < references.size(); ++i) {
    const WordErrors line = align(split(references[i]), split(hypotheses[i]));
    sum.substitutions += line.substitutions;
    sum.deletions += line.deletions;
    sum.insertions += line.insertions;
    sum.words += line.words;
  }
  return sum;
}

std::u32string stripped_characters(std::string_view line) {
  std::u32string characters;
  for_each_character(line, [&](char32_t c, size_t, size_t) {
    if (!characters.empty() || !separates_words(c)) characters.push_back(c);
  });
  while (!characters.empty() && separates_words(characters.back())) characters.pop_back();
  return characters;
}

}  // namespace

double WordErrors::rate() const {
  return static_cast<double>(errors()) / static_cast<double>(std::max<int64_t>(1, words));
}

WordErrors count_word_errors(std::span<const std::string> references, std::span<const std::string> hypotheses) {
  return count_errors(references, hypotheses, split_words);
}

WordErrors count_character_errors(std::span<const std::string> references, std::span<const std::string> hypotheses) {
  return count_errors(references, hypotheses, stripped_characters);
}

}  // namespace vkformer
