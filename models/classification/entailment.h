#pragma once
// Classes that a model was never trained on, by one that tells whether a text entails a sentence (Yin et al. 2019,
// "Benchmarking Zero-shot Text Classification"), as transformers' zero-shot pipeline counts.

#include <span>
#include <string>
#include <vector>

namespace vkformer {

/// Two classes of such a model: MNLI's contradiction, neutral and entailment, or entailment and not_entailment.
struct EntailmentClasses {
  size_t entailment = 0, contradiction = 0;

  /// The one that begins with "entail", and the first, or where that is it the last. Throws Error, which begins with
  /// `model`, where none does.
  static EntailmentClasses of(const std::vector<std::string>& names, const std::string& model);
};

/// How likely each candidate is, by the logits of the sentences that say so: one of several is right; a single one, or
/// with `each` each, may be, by itself. At least one candidate.
std::vector<double> candidate_shares(std::span<const std::vector<float>> logits, const EntailmentClasses& classes,
                                     bool each);

}  // namespace vkformer
