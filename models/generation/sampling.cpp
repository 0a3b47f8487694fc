#include "models/generation/sampling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
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

/// The likeliest `count` of the tokens that can be drawn, the likeliest first.
std::vector<uint64_t> likeliest(std::span<const float> logits, size_t count) {
  std::vector<uint64_t> ranks;
  if (2 * count >= logits.size()) {
    ranks.reserve(logits.size());
    for (size_t id = 0; id < logits.size(); ++id)
      if (!std::isinf(logits[id])) ranks.push_back(rank_of(logits[id], id));
    sort_by_logit(ranks);
    if (count < ranks.size()) ranks.resize(count);
    return ranks;
  }
  // In one pass: nearly all of a vocabulary is below the least of those found so far.
  const auto last = static_cast<std::ptrdiff_t>(count) - 1;
  ranks.reserve(2 * count);
  float least = std::numeric_limits<float>::lowest();
  for (size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] < least) continue;
    ranks.push_back(rank_of(logits[id], id));
    if (ranks.size() < 2 * count) continue;
    std::nth_element(ranks.begin(), ranks.begin() + last, ranks.end());
    ranks.resize(count);
    least = logits[id_of(ranks.back())];
  }
  std::sort(ranks.begin(), ranks.end());
  if (count < ranks.size()) ranks.resize(count);
  return ranks;
}

/// The weight of a token, of which the likeliest has 1.
double weight_of(float logit, float highest, double temperature) {
  return std::exp((static_cast<double>(logit) - static_cast<double>(highest)) / temperature);
}

/// Draws from `tokens`, the likeliest first. Nothing where the token may be one beyond them: not where they are
/// `whole`, all that may be drawn.
std::optional<int32_t> drawn(std::span<const float> logits, std::vector<uint64_t> tokens, bool whole,
                             const SamplingSettings& settings, uint64_t draw) {
  const float highest = logits[id_of(tokens.front())];
  std::vector<double> weights;
  double total = 0;
  const auto sum = [&] { total = std::accumulate(weights.begin(), weights.end(), 0.0); };
  const auto weigh = [&](double temperature) {
    weights.clear();
    for (const uint64_t token : tokens) weights.push_back(weight_of(logits[id_of(token)], highest, temperature));
    if (whole) return sum();
    total = 0;
    for (const float logit : logits) total += weight_of(logit, highest, temperature);
  };
  const auto keep = [&](size_t kept) {
    tokens.resize(std::max<size_t>(kept, 1));
    weights.resize(tokens.size());
    sum();
    whole = true;
  };
  weigh(settings.temperature_last ? 1 : settings.temperature);
  if (settings.top_p < 1) {
    // The smallest set of tokens whose probabilities reach top_p.
    double reached = 0;
    size_t kept = 0;
    while (kept < weights.size() && reached < settings.top_p * total) reached += weights[kept++];
    if (!whole && reached < settings.top_p * total) return std::nullopt;
    keep(kept);
  }
  if (settings.min_p > 0) {
    const auto unlikely = std::ranges::find_if(weights, [&](double weight) { return weight < settings.min_p; });
    if (!whole && unlikely == weights.end()) return std::nullopt;
    keep(static_cast<size_t>(unlikely - weights.begin()));
  }
  if (settings.temperature_last) weigh(settings.temperature);
  double target = place_of(settings, draw) * total;
  for (size_t i = 0; i < tokens.size(); ++i)
    if ((target -= weights[i]) < 0) return static_cast<int32_t>(id_of(tokens[i]));
  if (!whole) return std::nullopt;
  return static_cast<int32_t>(id_of(tokens.back()));
}

}  // namespace

double place_of(const SamplingSettings& settings, uint64_t draw) {
  constexpr uint32_t sampling_stream = 0x73616d70;  // apart from the streams of dropout and initialisation
  return uniform(settings.seed, sampling_stream, draw);
}

int32_t sample(std::span<const float> logits, const SamplingSettings& settings, uint64_t draw) {
  size_t first = 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    check(logits[id] < INFINITY, "the logits hold {} at token {}; the weights may be damaged",
          std::isnan(logits[id]) ? "NaN" : "infinity", id);
    if (logits[id] > logits[first]) first = id;
  }
  check(!logits.empty() && !std::isinf(logits[first]), "no token of {} is possible: all logits are minus infinity",
        logits.size());
  if (settings.temperature == 0) return static_cast<int32_t>(first);
  // A whole vocabulary is sorted only where these don't settle it.
  constexpr int64_t usually_enough = 1024;
  const bool whole = settings.top_k > 0;
  const auto count = static_cast<size_t>(whole ? settings.top_k : usually_enough);
  if (const auto token = drawn(logits, likeliest(logits, count), whole, settings, draw)) return *token;
  return *drawn(logits, likeliest(logits, logits.size()), true, settings, draw);
}

}  // namespace vkformer
