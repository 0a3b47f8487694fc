#pragma once
// The mask of rows that hold several texts, none of which sees another.

#include "runtime/graph.h"

namespace vkformer {

/// visible i32 [B, T, T], 1 where query t may see key s: visible[b, t, s] = texts[b, s] = texts[b, t], and not 0. texts
/// i32 [B, T]: the number of a position's text, 0 where there is none. Throws Error for another shape or type.
Value same_text(Graph& graph, Value texts);

}  // namespace vkformer
