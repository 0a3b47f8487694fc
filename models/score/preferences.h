#pragma once
// How well a model tells preferred texts from others (Rafailov et al. 2023), beside the one that its training began
// with.

#include <array>
#include <cstdint>
#include <span>

namespace vkformer {

/// Of a text the reward is beta times what its log-likelihood has gained since the training began.
struct PreferenceScores {
  double accuracy = 0;              ///< share of pairs whose preferred text has the larger reward
  double margin = 0;                ///< mean difference of the two rewards
  double chosen = 0, rejected = 0;  ///< mean rewards
  int64_t pairs = 0;
};

/// Scores of pairs of likelihoods beside those of the reference; pairs with equal rewards count as wrong. The spans
/// have one size.
PreferenceScores score_preferences(std::span<const std::array<float, 2>> likelihoods,
                                   std::span<const std::array<float, 2>> reference, double beta);

}  // namespace vkformer
