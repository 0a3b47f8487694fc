#pragma once
// The gates of the gated delta rule (Yang et al. 2024), with Mamba 2's form of decay.

#include "runtime/graph.h"

namespace vkformer {

/// gates [.., 2 H] of projected [.., 2 H], which has b, then a of each head: beta = sigmoid(b), then
/// g = -exp(rate) softplus(a + offset), at most 0, with rate [H] ("A_log") and offset [H] ("dt_bias"). All f32. Throws
/// Error when the shapes disagree.
Value delta_gates(Graph& graph, Value projected, Value rate, Value offset);

/// The same of steps [.., H], which are a (Dao & Gu 2024, "Mamba 2"): beta = softplus(a + offset), g = -exp(rate) beta.
Value step_gates(Graph& graph, Value steps, Value rate, Value offset);

}  // namespace vkformer
