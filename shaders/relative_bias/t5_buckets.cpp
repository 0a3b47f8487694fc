#include "shaders/relative_bias/t5_buckets.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"

namespace vkformer {

std::vector<int32_t> t5_buckets(int64_t first, int64_t last, bool bidirectional, int64_t buckets,
                                int64_t max_distance) {
  const int64_t side = bidirectional ? buckets / 2 : buckets;  // buckets for one direction
  const int64_t exact = side / 2;                              // of them, those of a single distance
  check(first <= last, "[t5_buckets] there are no positions from {} to {}", first, last);
  check(exact >= 1 && buckets <= INT32_MAX, "[t5_buckets] {} buckets are too {}", buckets, exact < 1 ? "few" : "many");
  check(max_distance > exact, "[t5_buckets] max_distance {} is not beyond the {} distances that have their own bucket",
        max_distance, exact);
  const auto range = static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const auto bucket_of_distance = [&](int64_t distance) {
    if (distance < exact) return distance;
    const float steps = std::log(static_cast<float>(distance) / static_cast<float>(exact)) / range;
    return std::min(exact + static_cast<int64_t>(steps * static_cast<float>(side - exact)), side - 1);
  };
  std::vector<int32_t> result;
  result.reserve(static_cast<size_t>(last - first + 1));
  for (int64_t relative = first; relative <= last; ++relative) {
    const bool behind = bidirectional && relative > 0;
    const int64_t distance = behind ? relative : std::max<int64_t>(-relative, 0);
    result.push_back(static_cast<int32_t>(bucket_of_distance(distance) + (behind ? side : 0)));
  }
  return result;
}

}  // namespace vkformer
