#pragma once
// Layer normalization (Ba, Kiros, Hinton 2016).

#include "runtime/graph.h"

namespace vkformer {

/// y = (x - mean) / sqrt(variance + epsilon) * gain + bias over the last dimension, with the biased variance.
/// x [.., C], gain [C], bias [C] or absent; y [.., C], of type `result`: f32, or with an even C f16 or bf16. Throws
/// Error when the shapes disagree.
///
/// The node also gives the mean and the reciprocal standard deviation of each row, [rows], for the backward pass; they
/// cost no memory when nobody uses them. Gradients flow through y only; the upstream may be
/// of 16 bits, those of x, gain and bias are f32.
Value layer_norm(Graph& graph, Value x, Value gain, Value bias, float epsilon, DType result = DType::f32);
bool is_layer_norm(const Node& node);

}  // namespace vkformer
