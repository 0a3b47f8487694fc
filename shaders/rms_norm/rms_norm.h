#pragma once
// Root mean square layer normalization (Zhang, Sennrich 2019), as in T5 and LLaMA.

#include "runtime/graph.h"

namespace vkformer {

/// y = x / sqrt(mean of x^2 + epsilon) * (gain_offset + gain) over the last dimension: no mean is taken off and there
/// is no bias; an offset of 1 is for gains that are kept minus 1 (Gemma). x [.., C], gain [C], or [G, C] of x
/// [.., G, C], each of whose G groups has its own (Mamba 2's norm of groups of heads); y like x, of type `result`: f32,
/// or with an even C f16 or bf16. Throws Error when the shapes disagree.
///
/// The node also gives the factor 1 / sqrt(mean of x^2 + epsilon) of each row, [rows], for the backward pass; it costs
/// no memory when nobody uses it. Gradients flow through y only; the upstream may be of 16 bits,
/// those of x and gain are f32.
Value rms_norm(Graph& graph, Value x, Value gain, float epsilon, DType result = DType::f32, float gain_offset = 0);

/// What becomes of the norm in the same pass over it: scale * (norm + residual), for layers with norms behind their
/// parts.
struct NormedSum {
  Value residual;    ///< f32 like x
  Value scale = {};  ///< optional f32 [1], which gets no gradient (Gemma 4's layer_scalar)
};
Value rms_norm_sum(Graph& graph, Value x, Value gain, float epsilon, float gain_offset, const NormedSum& sum);
/// Whether it is one that adds nothing.
bool is_rms_norm(const Node& node);

}  // namespace vkformer
