#include "models/transcription/timestamp_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vkformer {

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

/// The natural logarithm of the sum of exponentials.
double log_sum(std::span<const double> scores) {
  const double largest = *std::ranges::max_element(scores);
  if (largest == impossible) return impossible;
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
}

}  // namespace

void TimestampRule::restrict_scores(std::span<const int32_t> generated, std::span<double> scores) const {
  const auto first = static_cast<size_t>(tokens_.first_time);
  const auto text = scores.first(static_cast<size_t>(tokens_.end)), times = scores.subspan(first);
  const auto ban = [](std::span<double> range) { std::ranges::fill(range, impossible); };
  scores[static_cast<size_t>(tokens_.no_timestamps)] = impossible;
  if (generated.empty()) {
    ban(scores.first(first));
    if (const auto most = static_cast<size_t>(tokens_.latest_start) + 1; most < times.size()) ban(times.subspan(most));
    return;
  }
  const size_t count = generated.size();
  const bool behind_time = tokens_.is_time(generated[count - 1]);
  const bool pair = behind_time && (count < 2 || tokens_.is_time(generated[count - 2]));
  if (pair)
    ban(times);
  else if (behind_time)
    ban(text);
  const auto last =
      std::find_if(generated.rbegin(), generated.rend(), [this](int32_t token) { return tokens_.is_time(token); });
  if (last != generated.rend() && !pair) {
    // The second of a pair may repeat the first; a segment's end lies behind its beginning.
    const auto least = static_cast<size_t>(*last - tokens_.first_time) + (behind_time ? 0 : 1);
    ban(times.first(std::min(least, times.size())));
  }
  const auto others = scores.first(first);
  if (log_sum(times) > *std::ranges::max_element(others)) ban(others);
}

}  // namespace vkformer
