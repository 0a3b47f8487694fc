#include "models/generation/sampling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {
namespace {

/// A token as an integer: the likelier one has the smaller upper half, and the lower half, the id, breaks ties, so that
/// the order is the same everywhere.
uint64_t rank_of(float logit, size_t id) {
  const auto bits = std::bit_cast<uint32_t>(logit + 0.0f);  // -0 is 0
  const uint32_t ascending = bits >> 31 != 0 ? ~bits : bits | 1u << 31;
  return static_cast<uint64_t>(~ascending) << 32 | id;
}
size_t id_of(uint64_t rank) { return static_cast<uint32_t>(rank); }

/// Sorts by the upper halves and keeps the order of equal ones: three counting passes, for a whole vocabulary a tenth
/// of what comparing takes.
void sort_by_logit(std::vector<uint64_t>& ranks) {
  constexpr int digit_bits = 11;
  constexpr uint64_t digits = uint64_t{1} << digit_bits;
  std::vector<uint64_t> sorted(ranks.size());
  for (int shift = 32; shift < 64; shift += digit_bits) {
    std::array<size_t, digits> place{};
    for (const uint64_t rank : ranks) ++place[rank >> shift & (digits - 1)];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), size_t{0});
    for (const uint64_t rank : ranks) sorted[place[rank >> shift & (digits - 1)]++] = rank;
    ranks.swap(sorted);
  }
}

/// The tokens that can be drawn, the likeliest first; no more than top_k of them, unless that is 0.
std::vector<uint64_t> ranked(std::span<const float> logits, int64_t top_k) {
  std::vector<uint64_t> ranks;
  ranks.reserve(logits.size());
  for (size_t id = 0; id < logits.size(); ++id)
    if (!std::isinf(logits[id])) ranks.push_back(rank_of(logits[id], id));
  if (top_k > 0 && static_cast<uint64_t>(top_k) < ranks.size()) {
    const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(top_k);
    std::nth_element(ranks.begin(), end, ranks.end());
    ranks.erase(end, ranks.end());
    std::sort(ranks.begin(), ranks.end());
  } else {
    sort_by_logit(ranks);
  }
  return ranks;
}

}  // namespace

int32_t sample(std::span<const float> logits, const SamplingSettings& settings, uint64_t draw) {
  size_t likeliest = 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    check(logits[id] < INFINITY, "the logits hold {} at token {}; the weights may be damaged",
          std::isnan(logits[id]) ? "NaN" : "infinity", id);
    if (logits[id] > logits[likeliest]) likeliest = id;
  }
  check(!logits.empty() && !std::isinf(logits[likeliest]), "no token of {} is possible: all logits are minus infinity",
        logits.size());
  if (settings.temperature == 0) return static_cast<int32_t>(likeliest);
  std::vector<uint64_t> tokens = ranked(logits, settings.top_k);
  // The weights of the tokens, of which the likeliest has 1.
  const auto weights_at = [&](double temperature) {
    const auto highest = static_cast<double>(logits[likeliest]);
    std::vector<double> weights;
    weights.reserve(tokens.size());
    for (const uint64_t token : tokens)
      weights.push_back(std::exp((static_cast<double>(logits[id_of(token)]) - highest) / temperature));
    return weights;
  };
  std::vector<double> weights = weights_at(settings.temperature_last ? 1 : settings.temperature);
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto keep = [&](size_t kept) {
    tokens.resize(std::max<size_t>(kept, 1));
    weights.resize(tokens.size());
    total = std::accumulate(weights.begin(), weights.end(), 0.0);
  };
  if (settings.top_p < 1) {
    // The smallest set of tokens whose probabilities reach top_p.
    double sum = 0;
    size_t kept = 0;
    while (kept < weights.size() && sum < settings.top_p * total) sum += weights[kept++];
    keep(kept);
  }
  if (settings.min_p > 0) {
    const auto unlikely = std::ranges::find_if(weights, [&](double weight) { return weight < settings.min_p; });
    keep(static_cast<size_t>(unlikely - weights.begin()));
  }
  if (settings.temperature_last) {
    weights = weights_at(settings.temperature);
    total = std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  constexpr uint32_t sampling_stream = 0x73616d70;  // apart from the streams of dropout and initialisation
  double target = uniform(settings.seed, sampling_stream, draw) * total;
  for (size_t i = 0; i < tokens.size(); ++i)
    if ((target -= weights[i]) < 0) return static_cast<int32_t>(id_of(tokens[i]));
  return static_cast<int32_t>(id_of(tokens.back()));
}

}  // namespace vkformer
