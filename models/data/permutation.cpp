#include "models/data/permutation.h"

#include <utility>

#include "runtime/random.h"

namespace vkformer {

// A Feistel network, whose rounds are Philox, on the smallest even number of bits that holds the range, followed until
// it comes back into the range.
int64_t permuted(int64_t index, int64_t count, uint32_t seed, uint32_t stream) {
  constexpr uint32_t rounds = 8;
  int half = 1;
  while (int64_t{1} << (2 * half) < count) ++half;
  const uint32_t mask = (uint32_t{1} << half) - 1;
  do {
    auto left = static_cast<uint32_t>(index >> half), right = static_cast<uint32_t>(index) & mask;
    for (uint32_t round = 0; round < rounds; ++round) {
      const uint32_t word = philox4x32_10({right, round, 0, 0}, {seed, stream})[0];
      left = std::exchange(right, left ^ (word & mask));
    }
    index = int64_t{left} << half | right;
  } while (index >= count);
  return index;
}

}  // namespace vkformer
