#pragma once
// Products of a few tokens with the weights of their experts, with the op behind. For GPUs; not differentiable. Its
// kernel is matmul's "vector".
//
// gated:
//   y[.., j, :] = gate(u, v), see gated_unit, of the halves u, v of x op(weight[e]) + bias[e]; y [.., k, N / 2]
//
// summed:
//   y = scale * (sum over j of weights[.., j] (x[.., j, :] op(weight[e]) + bias[e])) + residual; y [.., N]
//
// where e = chosen[.., j], as in expert_matmul. Weights are [E, N, K], all of x is f32.

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// What the gated_unit `gate` gives, when its input is what the expert_matmul `product` gives, as one node. The inputs
/// of both are values of `graph`. Absent where that can't be.
Value fuse_expert_gate(Graph& graph, const Node& product, const Node& gate, const DeviceFacts& facts);

/// What the expert_sum `sum` gives, when its input is what the expert_matmul `product` gives, as one node; with weights
/// that a scale has made, that too. Absent where that can't be.
Value fuse_expert_sum(Graph& graph, const Node& product, const Node& sum, const DeviceFacts& facts);

}  // namespace vkformer
