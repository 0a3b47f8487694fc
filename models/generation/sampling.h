#pragma once
// One token from a row of logits.

#include <cstdint>
#include <span>

namespace vkformer {

struct SamplingSettings {
  double temperature = 1;  ///< 0: greedy
  int64_t top_k = 0;       ///< 0: off
  double top_p = 1;        ///< 1: off
  uint32_t seed = 0;
};

/// Chooses a token: temperature, then top-k, then top-p (nucleus), then a draw that depends only on (seed, draw).
/// Greedy takes the largest logit, the lower id on a tie. Logits of minus infinity are never drawn. Throws Error for
/// NaN, for plus infinity, and where nothing can be drawn.
int32_t sample(std::span<const float> logits, const SamplingSettings& settings, uint64_t draw);

}  // namespace vkformer
