#pragma once
// Ranges of rows, copied in one piece.

#include "runtime/graph.h"

namespace vkformer {

/// Rows [first, first + count) of all rows of x: x [.., C] -> [count, C], floats or blocks. Of 16-bit floats the
/// elements before the range and in it must be even. Not differentiable. Throws Error when there are no such rows.
Value rows(Graph& graph, Value x, int64_t first, int64_t count);

/// Parts [.., C] of one type below each other: [sum of rows, C]. They are computed in place where each begins at a
/// multiple of 16 bytes. At most 32. Not differentiable. One part is itself.
Value join_rows(Graph& graph, const Values& parts);

}  // namespace vkformer
