#include "runtime/device_facts.h"

namespace vkformer {

DeviceFacts DeviceFacts::within(const DeviceFacts& other) const {
  DeviceFacts facts = *this;
  facts.kind = other.kind;
  facts.cores = other.cores;
  const auto least = [&]<class T>(T DeviceFacts::*limit) { facts.*limit = std::min(facts.*limit, other.*limit); };
  least(&DeviceFacts::max_workgroup_size);
  least(&DeviceFacts::shared_memory);
  least(&DeviceFacts::max_allocation);
  least(&DeviceFacts::memory_total);
  least(&DeviceFacts::memory_free);
  least(&DeviceFacts::host_memory_free);
  for (size_t axis = 0; axis < 3; ++axis)
    facts.max_workgroups[axis] = std::min(facts.max_workgroups[axis], other.max_workgroups[axis]);
  const auto both = [&](bool DeviceFacts::*feature) { facts.*feature = facts.*feature && other.*feature; };
  both(&DeviceFacts::subgroup_shuffle);
  both(&DeviceFacts::full_subgroups);
  both(&DeviceFacts::int64);
  both(&DeviceFacts::int16);
  both(&DeviceFacts::float16);
  both(&DeviceFacts::bfloat16);
  both(&DeviceFacts::integer_dot);
  both(&DeviceFacts::f16_sums);
  facts.half_modes.nearest = facts.half_modes.nearest && facts.float16;  // by conversions in shaders
  std::erase_if(facts.matrix_shapes,
                [&](const MatrixShape& shape) { return std::ranges::count(other.matrix_shapes, shape) == 0; });
  if (other.workgroup_matrices.granularities.empty()) facts.workgroup_matrices = {};
  return facts;
}

}  // namespace vkformer
