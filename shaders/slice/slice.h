#pragma once
// Ranges of columns.

#include "runtime/graph.h"

namespace vkformer {

/// Columns [first, first + count) of the last dimension of x: x [.., C] -> [.., count]. Its gradient is zero in the
/// other columns. All columns give x itself. x is f32, i32, or of 16 bits, which move in words of two:
/// then C, first and count must be even. Throws Error when there are no such columns.
Value slice(Graph& graph, Value x, int64_t first, int64_t count);

/// Columns [first, first + count) of `value`; count 0: all from the first one on.
struct ColumnRange {
  Value value;
  int64_t first = 0, count = 0;
};

/// The columns of all parts side by side: f32 [.., Ci] that agree in all but the last dimension -> [.., sum of counts].
/// Whole parts of a single row are computed in place. One whole part is itself. Throws Error when there are no such
/// columns.
Value join_columns(Graph& graph, const std::vector<ColumnRange>& parts);

}  // namespace vkformer
