#pragma once
// Rows of a table, chosen by integers.

#include "runtime/graph.h"

namespace vkformer {

struct EmbeddingOptions {
  Value position_table = {};  ///< [P, C]; absent: no positions
  /// i32 [1], or [B] with one for each row of ids (B: all but their last dimension): position of that row's first id,
  /// which is negative where padding comes first; or one for each id, of the shape of ids; absent: 0.
  Value position = {};
  int64_t first_position = 0;  ///< added to every position, from 0 to P - 1: 2 in BART, padding id + 1 in RoBERTa
  double scale = 1;            ///< of the table's rows: sqrt(C) in the original Transformer
};

/// y[.., :] = scale * table[ids[..], :], plus position_table[first_position + position + t, :] if there is a position
/// table, where t is the index along the last dimension of ids. table [V, C] (parameters or any activation), ids i32
/// [..]; y [.., C]. Throws Error when the shapes disagree.
///
/// The host checks ids before it uploads them. An id outside [0, V) that reaches the device, or a row of the position
/// table outside [0, P), reads nothing: that table's row counts as zeros, and no gradient flows into it.
Value embedding(Graph& graph, Value table, Value ids, const EmbeddingOptions& options = {});
bool is_embedding(const Node& node);

/// The way back: y [rows, C], where y[v] is the sum of the rows of x [.., C] whose id is v, in the order of the ids,
/// and zeros where there is none. ids i32, as many as x has rows; an id outside [0, rows) leaves its row out. Throws
/// Error when the shapes disagree.
Value scatter_rows(Graph& graph, Value x, Value ids, int64_t rows);

}  // namespace vkformer
