#pragma once
// How the attention kernels for matrix cores are laid out on a device. Internal to this folder.

#include <optional>

#include "runtime/device_facts.h"
#include "shaders/attention/attention_problem.h"

namespace vkformer {

/// A workgroup is `subgroups` subgroups, each with shape.m rows of its own (queries, or keys); it walks over the other
/// side in blocks.
struct AttentionMatrixLayout {
  static constexpr uint32_t subgroups = 4;

  uint32_t subgroup_size;
  MatrixShape shape;  ///< the products that are computed at once
  uint32_t block;     ///< rows of the other side that are staged together
  uint32_t stages;    ///< such blocks in shared memory
  uint32_t parts;     ///< workgroups that share the columns of a head's results

  uint32_t invocations() const { return subgroup_size * subgroups; }
  int64_t rows() const { return int64_t{subgroups} * shape.m; }
};

/// What a kernel asks for: blocks of so many rows at most and at least, beside each so many tiles of shape.m rows of
/// f32, and results whose columns so many workgroups share.
struct AttentionMatrixNeeds {
  uint32_t block, least_block;
  uint32_t vector_tiles = 0;
  uint32_t parts = 1;
};

/// With the largest of the products offered that divide heads and values, the larger or the smaller blocks, and two
/// stages where shared memory has room (smaller blocks, too, where all products are of a depth under 16; beside deeper
/// ones those are left alone). None: the kernel is not legal, as where lanes share a thread's registers (Intel): there
/// it spills hundreds of them. Does not ask whether the device computes right.
std::optional<AttentionMatrixLayout> attention_matrix_layout(const AttentionMatrixNeeds& needs,
                                                             const AttentionProblem& problem, const DeviceFacts& facts);

}  // namespace vkformer
