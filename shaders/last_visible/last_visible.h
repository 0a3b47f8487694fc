#pragma once
// Where texts end that are filled up to one length.

#include "runtime/graph.h"

namespace vkformer {

/// i32 [B, 1]: b * T + t of the last position t of row b where mask is not 0, or of its first position where there is
/// none. mask i32 [B, T]. With `embedding` of [B * T, C] it gives each text's last row. Throws Error for another shape
/// or type.
Value last_visible(Graph& graph, Value mask);

}  // namespace vkformer
