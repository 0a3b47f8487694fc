#pragma once
// 16-bit floats in a model's graph: rewrites of the whole graph, so that no family knows of them.

#include <set>

#include "runtime/graph.h"

namespace vkformer {

/// A rewritten graph, and its value for each one of the original.
struct Rewritten {
  Graph graph;
  Values values;
};

/// Every product of f32 matrices gets operands rounded to `dtype` (f16 or bf16) and still sums in f32; all else stays
/// f32. To be applied before differentiate(): then the backward products are of that type, too, and the gradients of
/// the f32 parameters are f32 (mixed precision, as PyTorch's autocast does it).
Rewritten with_half_products(const Graph& graph, DType dtype);

/// The persistent matrices that `graph` reads only as weights of products and as embedding tables.
std::set<std::string> product_weights(const Graph& graph);

/// The persistent tensors named in `names` become tensors of `dtype`.
Rewritten with_half_weights(const Graph& graph, const std::set<std::string>& names, DType dtype);

}  // namespace vkformer
