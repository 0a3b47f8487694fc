#include "models/score/chrf.h"

#include <fmt/format.h>

#include <array>

#include "models/score/segments.h"
#include "models/text/unicode.h"

namespace vkformer {

namespace {

/// Sums over all lines for the n-grams of one length.
struct OrderCounts {
  int64_t hypothesis = 0, reference = 0, matches = 0;
};

using CharacterCounts = std::array<OrderCounts, 6>;

/// Each with 1 added, so that none is 0.
std::vector<uint32_t> characters_of(std::string_view line) {
  std::vector<uint32_t> characters;
  for_each_character(line, [&](char32_t c, size_t, size_t) {
    if (!separates_words(c)) characters.push_back(c + 1);
  });
  return characters;
}

double f_score(const CharacterCounts& counts) {
  double precision = 0, recall = 0;
  int orders = 0;
  for (const OrderCounts& order : counts) {
    if (order.hypothesis == 0 || order.reference == 0) continue;
    precision += static_cast<double>(order.matches) / static_cast<double>(order.hypothesis);
    recall += static_cast<double>(order.matches) / static_cast<double>(order.reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  constexpr double beta_squared = 4;
  return 100 * ((1 + beta_squared) * precision * recall / (beta_squared * precision + recall));
}

}  // namespace

std::string ChrfScore::to_string() const { return fmt::format("chrF2 = {:.2f}", score); }

ChrfScore score_chrf(std::span<const std::string> references, std::span<const std::string> hypotheses,
                     bool lower_cased) {
  check_pairs(references, hypotheses);
  const auto characters = [&](const std::string& line) { return characters_of(lower_cased ? lower_case(line) : line); };
  CharacterCounts counts;
  for (size_t i = 0; i < references.size(); ++i) {
    const auto reference = characters(references[i]), hypothesis = characters(hypotheses[i]);
    const auto shared = shared_ngrams<6>(hypothesis, reference);
    for (size_t n = 1; n <= counts.size(); ++n) {
      OrderCounts& order = counts[n - 1];
      // A line whose reference is too short for n-grams of this length says nothing about them.
      if (reference.size() < n) continue;
      order.hypothesis += count_ngrams(hypothesis.size(), n);
      order.reference += count_ngrams(reference.size(), n);
      order.matches += shared[n - 1];
    }
  }
  return {
      .score = f_score(counts),
      .signature = fmt::format("nrefs:1|case:{}|eff:yes|nc:6|nw:0|space:no|version:2.x", lower_cased ? "lc" : "mixed")};
}

}  // namespace vkformer
