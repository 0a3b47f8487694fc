#pragma once
// Functions of each element alone, of f32, f16 or bf16: all inputs and the result are of one type.

#include "runtime/graph.h"

namespace vkformer {

/// The values are those that shaders/common/activation.glsl and matmul's fused epilogue use.
enum class Activation : uint8_t {
  none = 0,
  relu = 1,
  gelu = 2,       ///< x * Phi(x), exact (erf)
  gelu_tanh = 3,  ///< GPT-2's "gelu_new": x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2
  silu = 4,       ///< x * sigmoid(x), also called swish
  tanh = 5,
  quick_gelu = 6,  ///< CLIP's x * sigmoid(1.702 x)
};

/// The activation of x; Activation::none gives x itself.
Value activate(Graph& graph, Activation activation, Value x);

/// The same for one number on the host, for references.
double activated(Activation activation, double x);

/// upstream * activation'(pre_activation), both of one element count; the result has the shape of `upstream`.
/// relu'(0) = 0, as in PyTorch. Activation::none gives `upstream` itself.
Value activation_gradient(Graph& graph, Activation activation, Value pre_activation, Value upstream);

/// a + b of equal shapes.
Value add(Graph& graph, Value a, Value b);

/// a * b of equal shapes.
Value multiply(Graph& graph, Value a, Value b);

/// factor * x.
Value scale(Graph& graph, Value x, double factor);
bool is_scale(const Node& node);

/// factor * x, of a factor [1] that is a tensor and gets no gradient.
Value scale_by(Graph& graph, Value x, Value factor);

/// Whether each element of the node's result comes from those of its inputs at the same place.
bool is_elementwise(const Node& node);

/// limit * tanh(x / limit): stays between -limit and limit, which is positive (Gemma 2).
Value softcap(Graph& graph, Value x, double limit);

}  // namespace vkformer
