#pragma once
// chrF2, the F-score of n-grams of characters (Popovic, 2015), the same number that sacrebleu 2 gives by default.

#include <span>
#include <string>

namespace vkformer {

struct ChrfScore {
  double score = 0;       ///< percent
  std::string signature;  ///< how it was computed, in sacrebleu's form

  /// sacrebleu's line: "chrF2 = 59.73".
  std::string to_string() const;
};

/// The score of lines of valid UTF-8 against one reference each: n-grams of 1 to 6 characters without whitespace,
/// counted over all lines; recall weighs twice as much as precision. `lower_cased`: both sides are put in lower case
/// first. Throws Error unless there are as many hypotheses as references, and at least one.
ChrfScore score_chrf(std::span<const std::string> references, std::span<const std::string> hypotheses,
                     bool lower_cased = false);

}  // namespace vkformer
