#include "models/score/preferences.h"

#include <algorithm>

namespace vkformer {

PreferenceScores score_preferences(std::span<const std::array<float, 2>> likelihoods,
                                   std::span<const std::array<float, 2>> reference, double beta) {
  PreferenceScores scores{.pairs = std::ssize(likelihoods)};
  for (size_t i = 0; i < likelihoods.size(); ++i) {
    const auto reward = [&](size_t side) {
      return beta * (static_cast<double>(likelihoods[i][side]) - static_cast<double>(reference[i][side]));
    };
    scores.accuracy += reward(0) > reward(1) ? 1 : 0;
    scores.chosen += reward(0);
    scores.rejected += reward(1);
  }
  const auto count = static_cast<double>(std::max<int64_t>(1, scores.pairs));
  for (double* mean : {&scores.accuracy, &scores.chosen, &scores.rejected}) *mean /= count;
  scores.margin = scores.chosen - scores.rejected;
  return scores;
}

}  // namespace vkformer
