#pragma once
// 16-bit floats in a graph: rewrites of the whole graph, so that no family knows of them.

#include <map>

#include "runtime/passes/rewrite.h"

namespace vkformer {

/// Every product of f32 matrices gets operands rounded to `dtype` (f16 or bf16) and still sums in f32; all else stays
/// f32. To be applied before differentiate(): then the backward products are of that type, too, and the gradients of
/// the f32 parameters are f32 (mixed precision, as PyTorch's autocast does it).
Rewritten with_half_products(const Graph& graph, DType dtype);

/// The same graph, reading the persistent tensors of these names in these types.
Graph with_types(Graph graph, const std::map<std::string, DType>& types);

}  // namespace vkformer
