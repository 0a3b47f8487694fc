#pragma once
// Weights that a generator's store keeps in 16 bits.

#include "models/model.h"

namespace vkformer {

/// Gives the parameters that a text generator reads only as weights of products and as embedding tables the type
/// `dtype`; others, like norms, stay f32. Throws Error for a model that does not write text.
void store_weights_as(Model& model, DType dtype);

/// A graph of that model as its family builds it, reading the parameters in the types they are stored in.
Graph with_stored_types(Graph graph, const Model& model);

}  // namespace vkformer
