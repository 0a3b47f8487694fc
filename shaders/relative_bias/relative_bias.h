#pragma once
// Learned attention biases by relative position (Raffel et al. 2020, "T5").

#include "runtime/graph.h"

namespace vkformer {

struct RelativeBiasOptions {
  int64_t queries = 0;  ///< T
  int64_t keys = 0;     ///< S
  int64_t zero = 0;     ///< index in buckets_of of the relative position 0
  Value position = {};  ///< i32 [1]: position of the first query; the first key's is 0. Absent: 0
};

/// y[0, h, t, s] = table[buckets_of[clamp(s - (position + t) + zero, 0, R - 1)], h], the bias of key s for query t in
/// head h. table [buckets, H] f32; buckets_of i32 [R], data: a bucket for each relative position of a key (see
/// t5_buckets), those beyond its ends have the bucket at that end; y [1, H, T, S]. Throws Error when the shapes
/// disagree.
///
/// The host checks the buckets. One outside the table that reaches the device counts as zeros, and no gradient flows
/// into it.
Value relative_bias(Graph& graph, Value table, Value buckets_of, const RelativeBiasOptions& options);

}  // namespace vkformer
