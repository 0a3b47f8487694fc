#pragma once
// Rows taken away or added at the end.

#include "runtime/graph.h"

namespace vkformer {

/// The first `rows` rows of x, or all of them and zeros behind: x [R, ..] of f32, f16 or bf16 -> [rows, ..]. The
/// gradient is the same of the upstream. R rows give x itself, fewer are x's storage under another shape, and more
/// begin with what the plan may put there when it is computed. 16-bit floats move in words of two: of these x and the
/// result must have an even number. Throws Error when they don't, and when `rows` is below 1.
Value resize_rows(Graph& graph, Value x, int64_t rows);

bool is_resize_rows(const Node& node);

}  // namespace vkformer
