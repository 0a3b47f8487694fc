#include "models/score/label_sets.h"

namespace vkformer {

namespace {

struct Counts {
  double both = 0, either = 0;  ///< that are in both sides; in one and the other, added up
  double f1() const { return either > 0 ? 2 * both / either : 0; }
};

}  // namespace

LabelSetScores score_label_sets(std::span<const std::vector<double>> predicted,
                                std::span<const std::vector<double>> right) {
  const size_t labels = right.front().size();
  std::vector<Counts> each(labels);
  Counts all;
  LabelSetScores scores;
  for (size_t row = 0; row < right.size(); ++row) {
    bool exact = true;
    for (size_t label = 0; label < labels; ++label) {
      const bool is = predicted[row][label] > 0.5, should = right[row][label] > 0.5;
      for (Counts* counts : {&each[label], &all}) {
        counts->both += is && should;
        counts->either += is + should;
      }
      exact = exact && is == should;
    }
    scores.exact += exact;
  }
  scores.exact /= static_cast<double>(right.size());
  scores.micro_f1 = all.f1();
  for (const Counts& counts : each) scores.macro_f1 += counts.f1() / static_cast<double>(labels);
  return scores;
}

}  // namespace vkformer
