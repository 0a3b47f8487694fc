#pragma once
// The mask of a sequence whose padded positions still see themselves (XLNet).

#include "runtime/graph.h"

namespace vkformer {

/// visible i32 [B, T, T], 1 where query t may see key s: visible[b, t, s] = mask[b, s] != 0 or s = t. mask i32 [B, T].
/// Throws Error for another shape or type.
Value self_visible(Graph& graph, Value mask);

}  // namespace vkformer
