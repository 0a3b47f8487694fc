#pragma once
// What a token adds to the cache of latent attention (see models/families/decoder/latent_attention.h): a row whose
// first columns are normed and some of the others turn. One dispatch where decoding would need three. For GPUs; not
// differentiable.
//
//   x         [B, 1, C], f32
//   gain      [N]: the first N columns become (offset + gain) x / sqrt(mean of their squares + epsilon), see head_norm
//   table     [P, W], first i32 [1] or [B]?: `W` columns from attribute `column` >= N on turn, as rope's; first is its
//             position
//   cache     [B, S, C], f32 or of 16 bits, position i32 [1] or [B]: where the row goes, see cache_write
//   result    the cache

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// What the cache_write `write` gives, when it writes all that a rope of one head gives, of what a head_norm of one
/// head gives, as one node. Its inputs are values of `graph`. Absent where that can't be.
Value fuse_cached_row(Graph& graph, const Node& write, const DeviceFacts& facts);

}  // namespace vkformer
