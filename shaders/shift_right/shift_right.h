#pragma once
// What a decoder reads of a text: its tokens one position later.

#include "runtime/graph.h"

namespace vkformer {

/// i32 [B, T]: `first`, then all but the last of each row of ids i32 [B, T]. Throws Error for another shape or type.
Value shift_right(Graph& graph, Value ids, int32_t first);

}  // namespace vkformer
