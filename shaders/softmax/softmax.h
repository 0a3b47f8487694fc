#pragma once
// Softmax over the last dimension, with masks, where the probabilities themselves are wanted. (Attention has its own.)

#include "runtime/graph.h"

namespace vkformer {

struct SoftmaxOptions {
  float scale = 1;  ///< of x
  /// Row t sees the columns s <= t + (S - T) only.
  bool causal = false;
  /// i32 [B or 1, T or 1, S], optional, with B the first dimension of x (1 when x is [T, S]): row t sees column s only
  /// where it is not 0. Batch 1 holds for every batch, one row for every row.
  Value mask = {};
};

/// y[.., t, s] = exp(scale * x[.., t, s]) / sum of exp(scale * x[.., t, u]) over the columns u that row t sees; 0 in
/// the others, so a row that sees none is all zeros. x and y [.., T, S], f32. Finite for any finite x. Throws Error
/// when the shapes disagree.
Value softmax(Graph& graph, Value x, const SoftmaxOptions& options = {});

}  // namespace vkformer
