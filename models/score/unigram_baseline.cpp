#include "models/score/unigram_baseline.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vkformer {

UnigramBaseline unigram_baseline(std::span<const int64_t> counts) {
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  UnigramBaseline baseline{.accuracy = static_cast<double>(*std::ranges::max_element(counts)) / all};
  for (int64_t count : counts) {
    const double share = static_cast<double>(count) / all;
    if (count > 0) baseline.entropy -= share * std::log(share);
  }
  return baseline;
}

}  // namespace vkformer
