#pragma once
// Attention of a few positions over a cache that takes in their keys and values first, with the rotation before: one
// dispatch where decoding would need three or four, two for a long cache. For GPUs; a software driver takes it for
// caches of 16 bits, for which it has no kernel of its own.

#include <optional>

#include "runtime/op.h"

namespace vkformer {

/// x [B, T, columns], T at most 8, cache [B, S, Hk * (D + Dv)], position i32 [1] or [B], table [P, rotary_width]?,
/// rows' positions i32 [1] or [B]?, mask i32 [B or 1, T or 1, S]?, bias [B or 1, H, T, S]? -> result [B, T, H * Dv],
/// the cache.
///
/// From `column` on x has the heads of q, k and v, in this order. Those of q and k are turned like rope's, unless
/// rotary_width is 0; then k and v of query t become row `position` + t of their cache, if it has that, and attention()
/// is taken over its rows up to there, within the window. Attributes: heads,
/// kv_heads, head_width, value_width, scale, window, softcap, column, rotary_width, interleaved.
extern const Op cached_attention_op;

/// Nodes of a graph that are one cached_attention together.
struct CachedAttention {
  int attention = -1;
  int write = -1;  ///< the cache_write whose cache it reads
  int turn = -1;   ///< the rope of what is written; -1: none
};

/// What the attention node `attention` of `graph` can be one node with on that device, if there is something.
/// `uses`: by value id, how often nodes and the host read it.
std::optional<CachedAttention> find_cached_attention(const Graph& graph, int attention, std::span<const int> uses,
                                                     const DeviceFacts& facts);
/// The attention's result as one node of `copy`, in which value_of() gives what stands for a value of `graph`.
Value fuse_cache(Graph& copy, const Graph& graph, const CachedAttention& found,
                 const std::function<Value(Value)>& value_of);

}  // namespace vkformer
