#pragma once
// Rows of a table, chosen by integers.

#include "runtime/graph.h"

namespace vkformer {

/// y[.., :] = table[ids[..], :], plus position_table[position + t, :] if there is a position table, where t is the
/// index along the last dimension of ids. table [V, C] (parameters or any activation), ids i32 [..], position_table [P,
/// C], position i32 [1] (absent: 0); y [.., C]. Throws Error when the shapes disagree.
///
/// The host checks ids before it uploads them. An id outside [0, V), or a position outside [0, P), that reaches the
/// device reads nothing: that table's row counts as zeros, and no gradient flows into it.
Value embedding(Graph& graph, Value table, Value ids, Value position_table = {}, Value position = {});

}  // namespace vkformer
