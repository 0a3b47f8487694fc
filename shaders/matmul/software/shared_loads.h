#pragma once
// What the kernels that read vectors through shared loads need of a device and of a launch:
// shaders/common/vector_load.glsl.

#include "runtime/quirks.h"
#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

/// Whether kernels can rely on the device's subgroups, of 4 to 16 lanes, and pass values between these: then one can
/// own a tile in registers.
inline bool lanes_legal(const DeviceFacts& facts) {
  const bool fixed = facts.full_subgroups || facts.min_subgroup_size == facts.max_subgroup_size;
  return facts.subgroup_shuffle && fixed && facts.subgroup_size >= 4 && facts.subgroup_size <= 16;
}

/// Whether a lane's share of a loaded vector costs less than a load of its own.
inline bool vectors_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  return shares_loads(facts) && lanes_legal(facts) && facts.int64 && facts.int16 && p.a_type == DType::f32;
}

/// Launch::subgroup_size of kernels that lanes_legal() permits.
inline uint32_t required_subgroup(const DeviceFacts& facts) { return facts.full_subgroups ? facts.subgroup_size : 0; }

/// Octal digits that hold the numbers below `count` (see uniform_number.glsl), in steps of two: fewer pipelines.
inline uint32_t digits_for(uint32_t count) { return count <= 1u << 6 ? 2 : count <= 1u << 12 ? 4 : 6; }

}  // namespace vkformer
