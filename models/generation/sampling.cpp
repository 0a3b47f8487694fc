#include "models/generation/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "runtime/random.h"

namespace vkformer {

int32_t sample(std::span<const float> logits, const SamplingSettings& settings, uint64_t draw) {
  if (settings.temperature == 0)
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  // Sorted by logit; the id breaks ties, so that the order is the same everywhere.
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](int32_t id) { return static_cast<double>(logits[static_cast<size_t>(id)]); };
  std::sort(ids.begin(), ids.end(),
            [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  // What can't be drawn must not be what rounding leaves at the end.
  while (ids.size() > 1 && std::isinf(logit(ids.back()))) ids.pop_back();
  if (settings.top_k > 0) ids.resize(std::min(ids.size(), static_cast<size_t>(settings.top_k)));
  std::vector<double> weights;
  double total = 0;
  for (int32_t id : ids) {
    weights.push_back(std::exp((logit(id) - logit(ids[0])) / settings.temperature));
    total += weights.back();
  }
  if (settings.top_p < 1) {
    // The smallest set of tokens whose probabilities reach top_p.
    double sum = 0;
    size_t kept = 0;
    while (kept < weights.size() && sum < settings.top_p * total) sum += weights[kept++];
    ids.resize(std::max<size_t>(kept, 1));
    total = std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(ids.size()), 0.0);
  }
  constexpr uint32_t sampling_stream = 0x73616d70;  // apart from the streams of dropout and initialisation
  double target = uniform(settings.seed, sampling_stream, draw) * total;
  for (size_t i = 0; i < ids.size(); ++i)
    if ((target -= weights[i]) < 0) return ids[i];
  return ids.back();
}

}  // namespace vkformer
