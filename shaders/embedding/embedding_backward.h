#pragma once
// The two backward ops of embedding, and what all three share.

#include "runtime/op.h"

namespace vkformer {

/// upstream [.., C], ids i32 [..], total [rows, C] or absent -> dtable [rows, C]: dtable[v] = total[v] + scale * sum of
/// upstream[n] over the tokens n with ids[n] = v. Attributes: rows, scale.
extern const Op embedding_backward_op;

/// upstream [.., T, C], position i32 [1], [B] or absent -> dtable [rows, C]: dtable[p] = sum over the batch of
/// upstream[b, t, :] with first_position + position[b] + t = p. Attributes: rows, positions (T), first_position.
extern const Op position_backward_op;

void check_ids(const Node& node, size_t input);
/// The position of `batch` rows: i32 [1], [batch] or absent.
void check_position(const Node& node, size_t input, int64_t batch);
/// Of the reference: the position of a row's first token.
int64_t position_of(const HostTensor* position, int64_t row);
/// A case's positions, `count` of them; 0: absent.
CaseInput offsets_between(double low, double high, int64_t count);
/// A case's ids for a table of `rows` rows.
CaseInput ids_below(Shape shape, int64_t rows);

}  // namespace vkformer
