#pragma once
// A product with the norm before it and the gate after it: one dispatch where decoding would need three.
//
// y = activation(v) + residual with v = scale * norm(x) op(b) + bias or, gated, activation(v1) * v2 + residual with the
// halves of v's rows. x [.., K] of few rows, b [N, K] (transposed) or [K, N], f32, f16 or bf16, bias [N]; y and
// residual
// [.., N], gated [.., N / 2]. norm is rms_norm or layer_norm with gain [K] and, the latter, perhaps shift [K]. Not
// differentiable. Its kernels are matmul's for few rows: "dot", for software drivers, knows rms_norm alone and adds up
// the squares of x while it multiplies; in "vector", for GPUs, every workgroup norms the rows first.

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// What the matmul `product` gives, when its first operand is what `norm` gives, an rms_norm or a layer_norm (perhaps
/// reshaped), as one node. The inputs of both are values of `graph`. Absent where that doesn't pay or can't be.
Value fuse_norm(Graph& graph, const Node& norm, const Node& product, const DeviceFacts& facts);

/// What the gated_unit `gate` gives, when its input is what `product` gives, a node that fuse_norm() made. Absent where
/// that can't be.
Value fuse_gate(Graph& graph, const Node& product, const Node& gate, const DeviceFacts& facts);

}  // namespace vkformer
