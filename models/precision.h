#pragma once
// 16-bit floats in a model's graph: rewrites of the whole graph, so that no family knows of them.

#include "models/model.h"
#include "models/rewrite.h"

namespace vkformer {

/// Every product of f32 matrices gets operands rounded to `dtype` (f16 or bf16) and still sums in f32; all else stays
/// f32. To be applied before differentiate(): then the backward products are of that type, too, and the gradients of
/// the f32 parameters are f32 (mixed precision, as PyTorch's autocast does it).
Rewritten with_half_products(const Graph& graph, DType dtype);

/// Gives the parameters that a text generator reads only as weights of products and as embedding tables the type
/// `dtype`; others, like norms, stay f32. Throws Error for a model that does not write text.
void store_weights_as(Model& model, DType dtype);

/// A graph of that model as its family builds it, reading the parameters in the types they are stored in.
Graph with_stored_types(Graph graph, const Model& model);

}  // namespace vkformer
