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

/// x [M], f16 or bf16: for each element a subgroup multiplies matrices of that type on matrix cores, all of whose
/// elements are x and factor, `steps` (a multiple of 64) values of k deep, in 8 sums that begin with 0 to 7:
/// y [M], f32 = 28 + 8 steps x factor. Not differentiable; supported where the device has such matrix cores.
Value roof_matrix(Graph& graph, Value x, int64_t steps);
/// Operations that a roof_matrix node takes on a device that supports it.
double roof_matrix_flops(const Node& node, const DeviceFacts& facts);

}  // namespace vkformer
