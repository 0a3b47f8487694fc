#pragma once

#include "runtime/graph.h"

namespace vkformer {

/// f32 [1]: the root of the sum of the squares of all elements of all `blocks` (f32, any shapes), summed in f32 in a
/// fixed tree-like order. Not differentiable.
Value global_norm(Graph& graph, const Values& blocks);

}  // namespace vkformer
