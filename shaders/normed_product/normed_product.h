#pragma once
// A product with the RMSNorm before it and the gate after it: one dispatch where decoding would need three.
//
// y = activation(v) with v = scale * rms_norm(x, gain) b^T + bias or, gated, activation(v1) * v2 with the halves of v's
// rows. x [.., K] of few rows, gain [K], b [N, K] f32, f16 or bf16, bias [N]; y [.., N], gated [.., N / 2]. Only where
// matmul has its kernel "dot", which this is; not differentiable. The kernel adds up the squares of x while it
// multiplies: the rows' factors 1 / rms come last.

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// What the matmul `product` gives, when its first operand is what the rms_norm `norm` gives (perhaps reshaped), as one
/// node. The inputs of both are values of `graph`. Absent where that doesn't pay or can't be.
Value fuse_norm(Graph& graph, const Node& norm, const Node& product, const DeviceFacts& facts);

/// What the gated_unit `gate` gives, when its input is what `product` gives, a node that fuse_norm() made. Absent where
/// that can't be.
Value fuse_gate(Graph& graph, const Node& product, const Node& gate);

}  // namespace vkformer
