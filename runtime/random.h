#pragma once
// Counter-based random numbers, the same on host and device: a number depends only on (seed, stream, index), never on
// the order in which numbers are drawn.

#include <array>
#include <cstdint>

namespace vkformer {

/// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). Shaders have the same function
/// in shaders/common/philox.glsl.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Uniform in [0, 1): the word's high 24 bits, so exact in f32.
constexpr double uniform(uint32_t word) { return (word >> 8) * 0x1p-24; }

/// Uniform in [0, 1), 24 bits.
double uniform(uint32_t seed, uint32_t stream, uint64_t index);

/// Normal with mean 0 and standard deviation 1 (Box-Muller on two 53-bit uniforms).
/// Uses other counters than uniform() and than dropout, so equal (seed, stream) do not correlate with theirs.
double normal(uint32_t seed, uint32_t stream, uint64_t index);

}  // namespace vkformer
