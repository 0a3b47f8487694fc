#pragma once
// Gated linear units (Shazeer 2020, "GLU Variants Improve Transformer").

#include "shaders/elementwise/elementwise.h"

namespace vkformer {

/// Activations that are gates, under the same numbers.
enum class Gate : uint8_t {
  relu = static_cast<uint8_t>(Activation::relu),            ///< max(x, 0): ReGLU
  gelu = static_cast<uint8_t>(Activation::gelu),            ///< x * Phi(x), exact (erf): GEGLU
  gelu_tanh = static_cast<uint8_t>(Activation::gelu_tanh),  ///< GPT-2's approximation of gelu
  silu = static_cast<uint8_t>(Activation::silu),            ///< x * sigmoid(x), "swish": SwiGLU
  /// gpt-oss's: x * sigmoid(1.702 x), x at most 7; what it is multiplied with is 1 + up, up from -7 to 7.
  clamped = 7,
  sigmoid = 8,  ///< sigmoid(x) itself, without x
};

/// act(gate) * up [.., C], element by element, of two values [.., C], or of the halves of one, gate [.., 2 C] = [gate,
/// up]. relu'(0) = 0. All of one type: f32, or with an even C f16 or bf16; the attributes of
/// shaders/common/result_type.h make it round what is f32. Throws Error when the shapes disagree.
Value gated_unit(Graph& graph, Gate act, Value gate, Value up = {});
bool is_gated_unit(const Node& node);
/// The same of two numbers on the host, for references.
double gated(Gate act, double gate, double up);

}  // namespace vkformer
