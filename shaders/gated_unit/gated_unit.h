#pragma once
// Gated linear units (Shazeer 2020, "GLU Variants Improve Transformer").

#include "runtime/graph.h"

namespace vkformer {

enum class Gate : uint8_t {
  silu,       ///< x * sigmoid(x), "swish": SwiGLU
  gelu,       ///< x * Phi(x), exact (erf): GEGLU
  gelu_tanh,  ///< GPT-2's approximation of gelu
  relu,       ///< max(x, 0): ReGLU
};

/// act(gate) * up [.., C], element by element, of two values [.., C], or of the halves of one, gate [.., 2 C] = [gate,
/// up]. relu'(0) = 0. Throws Error when the shapes disagree.
Value gated_unit(Graph& graph, Gate act, Value gate, Value up = {});

}  // namespace vkformer
