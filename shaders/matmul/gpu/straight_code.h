#pragma once
// How much of a slice kernels with tiles in shared memory (tile.glsl) multiply in straight code.

#include "runtime/device_facts.h"

namespace vkformer {

/// Of `slice` values of k: all on GPUs, but for those with subgroups of 128 (Adreno), the oldest of which spills them; one
/// on software drivers, which compile more for seconds.
inline uint32_t straight_steps(const DeviceFacts& facts, uint32_t slice) {
  return facts.is_cpu() || facts.subgroup_size > 64 ? 1 : slice;
}

}  // namespace vkformer
