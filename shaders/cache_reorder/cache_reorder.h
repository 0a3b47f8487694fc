#pragma once
// Follows the beams of a search: each row of a cache goes on from the row it was chosen from.

#include "runtime/graph.h"

namespace vkformer {

/// cache[b, s, :] = old cache[rows[b], s, :] for s < count: changes `cache` [B, S, C] in place and gives it back; later
/// positions keep their values. rows i32 [B] are clamped to 0 .. B - 1 and may repeat, count i32 [1] to 0 .. S. Not
/// differentiable. Throws Error when the shapes disagree.
Value cache_reorder(Graph& graph, Value cache, Value rows, Value count);

}  // namespace vkformer
