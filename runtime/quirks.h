#pragma once
// Faults and habits of drivers that kernels allow for: the one place where a driver is told by what it is, not by what
// it offers.

#include "runtime/device_facts.h"

namespace vkformer {

/// Mesa 26.1 lavapipe at 512 bits (LP_NATIVE_VECTOR_WIDTH=512, subgroups of 16) aborts with "stack smashing detected"
/// on kernels that store 64-bit words packed from two floats. Probe: subgroup size above 8 on a CPU device. Workaround:
/// kernels without 64-bit stores.
inline bool packed_stores_abort(const DeviceFacts& facts) { return facts.is_cpu() && facts.subgroup_size > 8; }

/// lavapipe of Mesa 26 and later loads a value once when it is the same for all lanes of a subgroup, whatever its
/// address was computed from. Mesa 25 does so only for addresses made of constants and push constants, and loads all
/// else lane by lane. Not a fault, but it decides which kernels are fast: measured, matrix products that read A in that
/// way gain a third on Mesa 26 and take twice as long on Mesa 25. No feature tells; the driver's id (VkDriverId 13) and
/// version do.
inline bool uniform_loads_are_scalar(const DeviceFacts& facts) {
  return facts.is_cpu() && facts.driver_id == 13 && (facts.driver_version >> 22) >= 26;
}

/// lavapipe loads a value once when its address is made of push constants and constants, outside loops and branches:
/// see shaders/common/uniform_number.glsl. Seen on Mesa 25.0 and 26.1. Mesa 22.3 does so, too, but compiles kernels
/// that make much of it for minutes (matmul_block with 128 values of k: 113 s); versions between were not looked at.
/// Before 26 its driver version says nothing; Vulkan 1.4 came with Mesa 25.
inline bool shares_loads(const DeviceFacts& facts) {
  constexpr uint32_t vulkan_1_4 = 1u << 22 | 4u << 12;
  return facts.is_cpu() && facts.driver_id == 13 && facts.api_version >= vulkan_1_4;
}

/// Mesa 26.1 lavapipe at 512 bits offers the matrix products of 256 bits, 8 x 8 x 8, but lowers them as if they were as
/// wide as its vectors, and crashes while it compiles them. Probe: subgroup size above 8 on a CPU device. Workaround:
/// no matrix products.
inline bool matrix_products_crash(const DeviceFacts& facts) { return facts.is_cpu() && facts.subgroup_size > 8; }

/// NVK (VkDriverId 24; Mesa 26.1) does not unroll loops of three and more turns around other loops, whatever a shader
/// asks for: arrays that they walk over lie in memory instead of registers. Seen in tools/check-vendors.
inline bool keeps_outer_loops(const DeviceFacts& facts) { return facts.driver_id == 24; }

/// Whether lavapipe, which takes vectors of 256 bits unless LP_NATIVE_VECTOR_WIDTH says otherwise, is faster with 512
/// on a CPU with AVX-512, which the caller makes sure of. Measured on Zen 4: training steps gain a quarter on Mesa 26.
/// Mesa 25 was five times slower when matrix products still spread values with subgroupShuffle; with subgroupBroadcast
/// it has not been measured there.
inline bool wide_vectors_pay(const DeviceFacts& facts) {
  return uniform_loads_are_scalar(facts) && facts.subgroup_size == 8;
}

}  // namespace vkformer
