#pragma once
// Reverse-mode differentiation, graph to graph: a gradient rule emits ordinary nodes into the same graph.

#include <span>

#include "runtime/graph.h"

namespace vkformer {

/// Appends the nodes that compute d(loss)/d(value) for every value in `wanted` and gives those gradients, in that
/// order; absent where the loss does not depend on the value. `seed` is the upstream gradient of `loss` (same shape).
/// Contributions are added in a fixed order (latest use first), so results do not vary. Throws Error when the way from
/// loss to a wanted value passes an op without a gradient. With `recompute` the gradients of a layer follow a copy of
/// its forward nodes and read that (runtime/passes/recompute.h): the same bits in less memory, for more time.
Values differentiate(Graph& graph, Value loss, Value seed, std::span<const Value> wanted, bool recompute = false);

}  // namespace vkformer
