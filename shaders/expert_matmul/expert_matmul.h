#pragma once
// Products of tokens with the weights of the experts that a router chose for them (mixture of experts).

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// y[.., j, :] = x op(weight[e]) + bias[e], e = chosen[.., j], in one product over all pairs of a token and its expert.
///
///   chosen     i32 [.., k], from 0 to E - 1: a router's
///   x          [.., K], a row for all k experts of a token, or [.., k, K], one for each; f32, or of 16 bits for matrix
///              cores (see matrix_expert_type): then the values of blocks are rounded, too
///   weight     [E, N, K] when transposed, like the weights of E PyTorch Linears, otherwise [E, K, N]; f32, f16, bf16
///              or, where not trained, encoded blocks
///   bias       [E, N], or absent
///   y          [.., k, N]
///
/// Sums are f32. Only the weights of chosen experts are read. The gradient of the weight is f32; of an expert that
/// nobody chose it is zeros. Throws Error when the shapes disagree.
Value expert_matmul(Graph& graph, Value x, Value weight, Value chosen, bool transposed = true, Value bias = {});
bool is_expert_matmul(const Node& node);

/// What x of this node should be rounded to on that device, so that its products are computed on matrix cores; f32:
/// nothing.
DType matrix_expert_type(const Node& node, const DeviceFacts& facts);
/// Lets x be of 16 bits. Such products are not to be differentiated.
void set_for_matrix_cores(Attributes& attributes);

}  // namespace vkformer
