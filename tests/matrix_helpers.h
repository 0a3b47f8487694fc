#pragma once
// A device with matrix cores, for tests of what is chosen there.

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/device_facts.h"

namespace vkformer::testing {

inline DeviceFacts device_with_matrix_cores(DeviceKind kind = DeviceKind::discrete) {
  DeviceFacts facts;
  facts.kind = kind;
  facts.subgroup_size = facts.min_subgroup_size = facts.max_subgroup_size = 32;
  facts.subgroup_shuffle = facts.full_subgroups = facts.int64 = facts.float16 = true;
  facts.max_workgroup_size = 256;
  facts.max_workgroups[0] = facts.max_workgroups[1] = facts.max_workgroups[2] = 65535;
  facts.shared_memory = 49152;
  facts.max_allocation = uint64_t{1} << 30;
  facts.cooperative_matrix = true;
  facts.matrix_kernels = {DType::f16, DType::bf16};
  facts.matrix_shapes = {{16, 8, 8}, {16, 16, 16}};
  return facts;
}

/// Whether one of these candidates is for matrix cores.
inline bool offered(const std::vector<std::string_view>& names) {
  return std::any_of(names.begin(), names.end(), [](std::string_view name) { return name.starts_with("matrix"); });
}

}  // namespace vkformer::testing
