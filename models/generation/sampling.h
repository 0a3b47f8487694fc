#pragma once
// One token from a row of logits.

#include <cstdint>
#include <optional>
#include <span>

namespace vkformer {

struct SamplingSettings {
  double temperature = 1;  ///< 0: greedy
  int64_t top_k = 0;       ///< 0: off
  double top_p = 1;        ///< 1: off
  double min_p = 0;        ///< 0: off
  /// As in llama.cpp; else the temperature goes first, as in transformers. With top-p or min-p that is not the same.
  bool temperature_last = false;
  uint32_t seed = 0;
};

/// Those of one text: behind so many of its tokens the first draw is made, number `draw`, and one behind each that
/// follows.
struct TextDraws {
  SamplingSettings settings;
  uint64_t draw = 0;
  int64_t tokens = 0;
};

/// What is known beforehand of a text that is written token by token.
struct ExpectedText {
  std::optional<TextDraws> draws = {};  ///< nothing: the likeliest tokens are taken
  int64_t end = INT64_MAX;              ///< most tokens, the prompt's among them
};

/// Where among what may be drawn that draw falls, from 0 to 1.
double place_of(const SamplingSettings& settings, uint64_t draw);

/// Chooses a token: temperature, then top-k, then top-p (nucleus), then min-p (no token less than min_p times as likely
/// as the likeliest), then a draw that depends only on (seed, draw). With temperature_last the temperature comes before
/// the draw.
/// Greedy takes the largest logit, the lower id on a tie. Logits of minus infinity are never drawn. Throws Error for
/// NaN, for plus infinity, and where nothing can be drawn.
int32_t sample(std::span<const float> logits, const SamplingSettings& settings, uint64_t draw);

}  // namespace vkformer
