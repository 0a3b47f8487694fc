#pragma once
// A token's queries as latent attention takes them to the cached rows (see models/families/decoder/latent_attention.h):
// each head's plain part by its own matrix, the part that turns behind it. One dispatch where decoding would need five.
// For GPUs; not differentiable.
//
//   q         [1, 1, H * (plain + turned)], before it turns
//   keys      [H, plain, rank], f32 or of 16 bits; rank is a multiple of 4
//   table     [P, turned], position i32 [1]?: as rope's
//   result    [H, rank + turned]

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// What the join_columns `join` gives, when it joins what a product of the first columns of each head of one rope
/// gives with those that turned, as one node. Its inputs are values of `graph`. Absent where that can't be.
Value fuse_latent_query(Graph& graph, const Node& join, const DeviceFacts& facts);

}  // namespace vkformer
