#pragma once
// Weights in host memory that products of many rows would read over the bus again and again.

#include "runtime/graph.h"
#include "runtime/store_layout.h"

namespace vkformer {

/// The same graph, in which products of many rows read copies of weights that the store has in host memory. A kernel
/// reads a weight once for each block of the product's rows, the copy is read over the bus once. It is a temporary, and
/// made before the product ahead of its own, so that the bus is busy while that is computed: two of them are there at a
/// time. Products of few rows, as in decoding, and other ops read in place. Values are others' afterwards, names stay.
Graph with_copied_weights(Graph graph, const StoreLayout& store);

}  // namespace vkformer
