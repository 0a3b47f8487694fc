#pragma once
// Scores of lines that are right or wrong as a whole: labels, or texts that must match exactly.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vkformer {

/// One label, as scikit-learn's classification_report has it; what would be divided by zero is 0.
struct LabelScore {
  std::string label;
  int64_t matches = 0;    ///< lines that have it on both sides
  int64_t support = 0;    ///< lines whose reference has it
  int64_t predicted = 0;  ///< lines whose hypothesis has it

  double precision() const;
  double recall() const;
  double f1() const;
};

/// How many lines have `reference` (a place in LabelScores::labels) where the hypothesis says `hypothesis`.
struct Confusion {
  size_t reference = 0, hypothesis = 0;
  int64_t count = 0;
};

struct LabelScores {
  double accuracy = 0;                ///< share of the lines, 0 to 1
  double macro_f1 = 0;                ///< mean of f1() over all labels, each weighing the same, 0 to 1
  std::vector<LabelScore> labels;     ///< those of either side, sorted by their bytes
  std::vector<Confusion> confusions;  ///< pairs that occur, equal labels too, sorted by reference, then hypothesis

  /// The count of one pair of labels.
  int64_t count(size_t reference, size_t hypothesis) const;
};

/// Takes every line for a label. Throws Error unless there are as many hypotheses as references, and at least one.
LabelScores score_labels(std::span<const std::string> references, std::span<const std::string> hypotheses);

/// How many lines are equal byte for byte. Throws Error like score_labels().
int64_t count_equal_lines(std::span<const std::string> references, std::span<const std::string> hypotheses);

}  // namespace vkformer
