#pragma once
// What measures a device's roof (`vkformer bench --roof`): work with nothing to wait for but memory, or nothing but
// arithmetic.

#include "runtime/graph.h"

namespace vkformer {

/// Copies x into target, which has its type and is changed in place. Candidate "transfer" is vkCmdCopyBuffer, the
/// others are kernels. Not differentiable.
Value roof_copy(Graph& graph, Value target, Value x);

/// x [M, 16]: every element becomes x * factor + term, `steps` (a multiple of 8) times over, in registers. Not
/// differentiable.
inline constexpr float roof_factor = 0.875f, roof_term = 0.125f;
Value roof_multiply_add(Graph& graph, Value x, int64_t steps);

}  // namespace vkformer
