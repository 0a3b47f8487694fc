#pragma once
// The two backward ops of embedding, and what all three share.

#include "runtime/op.h"

namespace vkformer {

/// upstream [.., C], ids i32 [..] -> dtable [rows, C]: dtable[v] = sum of upstream[n] over the tokens n with ids[n] =
/// v. Attribute: rows.
extern const Op embedding_backward_op;

/// upstream [.., T, C], position i32 [1] or absent -> dtable [rows, C]: dtable[position + t] = sum over the batch of
/// upstream[.., t, :]. Attributes: rows, positions (T).
extern const Op position_backward_op;

void check_ids(const Node& node, size_t input);
void check_position(const Node& node, size_t input);
/// A case's ids for a table of `rows` rows.
CaseInput ids_below(Shape shape, int64_t rows);

}  // namespace vkformer
