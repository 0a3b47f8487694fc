#pragma once
// Matrix products with a fused epilogue.

#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct MatmulOptions {
  bool transpose_a = false;  ///< a is stored [.., K, M]; not together with transpose_b
  bool transpose_b = false;  ///< b is stored [.., N, K], like the weight of a PyTorch Linear
  /// With transpose_a: the leading dimensions of a and b join K (the sum over all rows, dW = x^T dy) instead of
  /// counting separate products.
  bool join_rows = false;
  float scale = 1;
  Value bias = {};  ///< [N]
  Activation activation = Activation::none;
  Value residual = {};  ///< of the result's shape and type
  /// Type of the result and of the value before the activation: f32, or what both operands are when that has 16 bits.
  /// Then rows have an even number of columns.
  DType result = DType::f32;
};

/// y = activation(scale * op(a) op(b) + bias) + residual, sums in f32.
///
///   b of rank 2    a [.., M, K] is one matrix of all its rows: y [.., M, N]. With transpose_a, a is [K, M], y [M, N].
///   b [.., K, N]   one product for each index of the leading dimensions, which a [.., M, K] must share: y [.., M, N].
///   join_rows      a [.., M], b [.., N] of equal leading dimensions: y [M, N].
///
/// b, or a and b, may be f16 or bf16 tensors (one type for both); sums and bias are f32 all the same, and y and the
/// residual unless `result` says otherwise. Their gradients are products of 16-bit operands, too: the upstream gradient
/// is rounded to a's type. The gradient of a 16-bit value is of its type, that of what was rounded from f32 (a cast)
/// and of a b of rank 2 is f32.
///
/// b may also be blocks (is_blocks()), which are decoded where they are multiplied; a and y are f32 then. Decoding, few
/// rows, wants b transposed: blocks along K.
///
/// Throws "[matmul] ..." on shapes and types that do not fit.
Value matmul(Graph& graph, Value a, Value b, const MatmulOptions& options = {});
bool is_matmul(const Node& node);

}  // namespace vkformer
