#pragma once
// The same elements under another shape.

#include "runtime/graph.h"

namespace vkformer {

/// x seen as `shape`, which has as many elements. Costs nothing: the result is the storage of x.
Value reshape(Graph& graph, Value x, const Shape& shape);

}  // namespace vkformer
