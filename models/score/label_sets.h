#pragma once
// Scores where each of several labels may hold.

#include <cstdint>
#include <span>
#include <vector>

namespace vkformer {

struct LabelSetScores {
  double micro_f1 = 0;  ///< F1 of all labels of all rows together
  double macro_f1 = 0;  ///< mean of the F1 of each label, 0 of one that neither side has
  double exact = 0;     ///< share of the rows whose labels are all right
};

/// Of rows of numbers for each label, above 0.5 where it holds: as many predicted as right ones, at least one.
LabelSetScores score_label_sets(std::span<const std::vector<double>> predicted,
                                std::span<const std::vector<double>> right);

}  // namespace vkformer
