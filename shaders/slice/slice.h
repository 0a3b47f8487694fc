#pragma once
// Ranges of columns.

#include "runtime/graph.h"

namespace vkformer {

/// Columns [first, first + count) of the last dimension of x: x [.., C] -> [.., count]. Its gradient is zero in the
/// other columns. All columns give x itself. x is f32, i32, or of 16 bits, which move in words of two:
/// then C, first and count must be even. Throws Error when there are no such columns.
Value slice(Graph& graph, Value x, int64_t first, int64_t count);
bool is_slice(const Node& node);

/// Columns [first, first + count) of `value`; count 0: all from the first one on. Each of its rows stands for `repeat`
/// that follow one another.
struct ColumnRange {
  Value value;
  int64_t first = 0, count = 0, repeat = 1;
};

/// The columns of all parts side by side: [.., Ci] of one type -> [.., sum of counts]. They agree in all but the last
/// dimension; those that repeat their rows (never the first part) in the number of rows that this makes. Of 16 bits,
/// all numbers of columns and first ones must be even. Whole parts of a single row are computed in place. One whole
/// part is itself. Throws Error when there are no such columns.
Value join_columns(Graph& graph, const std::vector<ColumnRange>& parts);
bool is_join_columns(const Node& node);
/// What it takes of its part i.
ColumnRange joined_range(const Node& node, size_t i);

}  // namespace vkformer
