#pragma once

#include "runtime/graph.h"

namespace vkformer {

/// Zeroes each element of x with probability p (0 <= p < 1) and multiplies the others by 1 / (1 - p), as PyTorch does.
/// `seed` is i32 [2] = {seed, step} in the step buffer, so a recorded program draws a new mask every step. `stream`
/// (0 <= stream < 2^32) tells the dropouts of one model apart: element i is kept iff component i % 4 of Philox4x32-10
/// with key (seed, stream) and counter (i / 4, 0, step, 0), as a uniform number, is at least p.
/// x is of f32, f16 or bf16, and so is the result.
/// Then adds `residual`, of x's type, if there is one. p = 0 gives x itself, plus the residual. The gradient for x is
/// the same op on the upstream, with the same mask.
Value dropout(Graph& graph, Value x, double p, Value seed, int64_t stream, Value residual = {});

}  // namespace vkformer
