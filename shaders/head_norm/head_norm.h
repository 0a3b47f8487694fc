#pragma once
// Norms of queries and keys (Henry et al. 2020, "Query-Key Normalization for Transformers"), as root mean squares.

#include "runtime/graph.h"

namespace vkformer {

/// Neighbouring heads that share a gain.
struct HeadNormPart {
  Value gain;         ///< [D]: each head has that many columns
  int64_t heads = 1;  ///< with one head of all columns, they are normed together
};

/// An rms_norm, with gains of gain_offset + gain, of each head of q and of k in a packed projection: x [.., columns],
/// whose first q.heads * Dq columns are q's heads, the next k.heads * Dk k's. Behind those may be `plain_heads` of Dk
/// columns that are normed without a gain (Gemma 4's values); the columns behind all are copied. y like x, f32, or with
/// even widths and columns f16 or bf16; gains are f32. Without a gain for k there are only q's heads, and what is behind
/// them. Throws Error when the shapes disagree.
///
/// The node also gives the factor 1 / sqrt(mean of squares + epsilon) of each head, [rows, heads], for the backward
/// pass; it costs no memory when nobody uses it. Gradients flow through y only.
Value head_norm(Graph& graph, Value x, const HeadNormPart& q, const HeadNormPart& k, float epsilon,
                float gain_offset = 0, int64_t plain_heads = 0);
bool is_head_norm(const Node& node);

}  // namespace vkformer
