#pragma once
// Short convolutions of each channel alone along time, in front of recurrences (Gu & Dao 2023, "Mamba"; the gated delta
// net of Qwen3.5; LFM2).

#include "runtime/graph.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct CausalConvolution {
  Value x;                                   ///< [B, T, C]
  Value weight;                              ///< [C, K], K from 2 to 8; its last column weighs the present position
  Value bias = {};                           ///< optional [C]
  Activation activation = Activation::none;  ///< none or silu
  Value texts = {};  ///< optional i32 [B, T]: which text of its row a position belongs to; 0: none, skipped
};

/// y[b, t, c] = activation(bias[c] + sum over k of weight[c, k] x[b, t - (K - 1) + k, c]), [B, T, C]. Position t sees
/// x[b, s] only where s >= 0 and texts[b, s], ..., texts[b, t] are all equal; y is 0 where texts is 0. All are f32.
/// Throws Error when shapes, types or the activation disagree.
Value causal_convolution(Graph& graph, const CausalConvolution& of);

/// The same, going on from what went before: `tail` [B, K - 1, C], persistent, has the last K - 1 inputs before x, the
/// latest last, and is changed in place. Positions 0 to t see it where texts[b, 0], ..., texts[b, t] are all equal, so
/// a text that begins at t > 0, be it behind padding, starts afresh. `position` is i32 [1], or [B] of each batch: where
/// it is 0 the row begins here, and what the tail has counts as zeros.
///
/// Afterwards the tail has the last K - 1 inputs that the row's last position with a text sees, itself included: those
/// of the old tail before those of x, zeros where there are fewer. A row without such a position keeps its tail, or
/// gets zeros where `position` is 0. Not differentiable.
Value continued_convolution(Graph& graph, const CausalConvolution& of, Value tail, Value position);

}  // namespace vkformer
