#include "models/classification/entailment.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "models/classification/batch_logits.h"
#include "runtime/check.h"

namespace vkformer {

EntailmentClasses EntailmentClasses::of(const std::vector<std::string>& names, const std::string& model) {
  const auto begins = [](const std::string& name) {
    constexpr std::string_view wanted = "entail";
    return name.size() >= wanted.size() &&
           std::equal(wanted.begin(), wanted.end(), name.begin(), [](char a, char b) { return a == (b | 0x20); });
  };
  const auto found = std::ranges::find_if(names, begins);
  check(found != names.end() && names.size() >= 2,
        "{} does not tell what a text entails: its classes are {}; candidates need a model of natural language "
        "inference (MNLI)",
        model, fmt::join(names, ", "));
  const auto entailment = static_cast<size_t>(found - names.begin());
  return {entailment, entailment == 0 ? names.size() - 1 : 0};
}

std::vector<double> candidate_shares(std::span<const std::vector<float>> logits, const EntailmentClasses& classes,
                                     bool each) {
  std::vector<float> entailed;
  std::vector<double> shares;
  for (const std::vector<float>& row : logits) {
    entailed.push_back(row[classes.entailment]);
    shares.push_back(softmax_of(std::array{row[classes.contradiction], row[classes.entailment]})[1]);
  }
  return each || logits.size() == 1 ? shares : softmax_of(entailed);
}

}  // namespace vkformer
