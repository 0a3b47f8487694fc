#pragma once
// Whether a graph is one that can run.

#include "runtime/graph.h"

namespace vkformer {

/// Checks that the graph is well-formed: types match what infer says, every value is produced before it is used, an
/// in-place change of a persistent tensor is not followed by a read of the old value. (A block and the tensors inside
/// it are different values here: a read through the other name is not seen.) Throws Error naming the node.
void verify(const Graph& graph);

}  // namespace vkformer
