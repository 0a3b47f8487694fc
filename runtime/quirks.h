#pragma once
// Faults of drivers that kernels work around: the one place where a driver is told by what it is, not by what it
// offers.

#include "runtime/device_facts.h"

namespace vkformer {

/// Mesa 26.1 lavapipe at 512 bits (LP_NATIVE_VECTOR_WIDTH=512, subgroups of 16) aborts with "stack smashing detected"
/// on kernels that store 64-bit words packed from two floats. Probe: subgroup size above 8 on a CPU device. Workaround:
/// kernels without 64-bit stores.
inline bool packed_stores_abort(const DeviceFacts& facts) { return facts.is_cpu() && facts.subgroup_size > 8; }

}  // namespace vkformer
