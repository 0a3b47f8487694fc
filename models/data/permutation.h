#pragma once
// An order of many things at random that is computed, not held.

#include <cstdint>

namespace vkformer {

/// Element `index` of a permutation of [0, count), 0 <= index < count <= 2^62. `stream` tells the uses of a seed apart.
int64_t permuted(int64_t index, int64_t count, uint32_t seed, uint32_t stream);

}  // namespace vkformer
