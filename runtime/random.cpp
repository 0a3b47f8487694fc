#include "runtime/random.h"

#include <cmath>
#include <numbers>

namespace vkformer {
namespace {

// The last counter word keeps the uses apart. Dropout uses 0.
constexpr uint32_t uniform_domain = 1;
constexpr uint32_t normal_domain = 2;

std::array<uint32_t, 4> words_of(uint32_t seed, uint32_t stream, uint64_t block, uint32_t domain) {
  return philox4x32_10({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, domain}, {seed, stream});
}

// The middle of one of 2^53 equal parts of (0, 1): never 0, whose logarithm is not finite.
double uniform53(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 32 | low) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

}  // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t x = uint64_t{0xD2511F53} * counter[0];
    const uint64_t z = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(z >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(z),
               static_cast<uint32_t>(x >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(x)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double uniform(uint32_t seed, uint32_t stream, uint64_t index) {
  return uniform(words_of(seed, stream, index / 4, uniform_domain)[index % 4]);
}

double normal(uint32_t seed, uint32_t stream, uint64_t index) {
  const std::array<uint32_t, 4> words = words_of(seed, stream, index, normal_domain);
  const double radius = std::sqrt(-2 * std::log(uniform53(words[0], words[1])));
  return radius * std::cos(2 * std::numbers::pi * uniform53(words[2], words[3]));
}

}  // namespace vkformer
