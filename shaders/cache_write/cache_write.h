#pragma once
// Appends keys or values to a cache of earlier positions.

#include "runtime/graph.h"

namespace vkformer {

/// Columns [column, column + C) of `value` [B, T, columns].
struct CacheSource {
  Value value;
  int64_t column = 0;
};

/// cache[b, position + t, c] = source[b, t, column + c] for all t: changes `cache` [B, S, C] in place and gives it
/// back. A cache of 16 bits takes f32 as well, rounded, what an f16 can't hold to the largest. `position` is i32 [1],
/// or [B] of each batch; rows that fall outside the cache are dropped. Not differentiable. Throws Error when shapes,
/// columns or types disagree.
Value cache_write(Graph& graph, Value cache, CacheSource source, Value position);
bool is_cache_write(const Node& node);

}  // namespace vkformer
