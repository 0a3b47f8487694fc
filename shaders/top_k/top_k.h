#pragma once
// The largest elements of rows: what choosing a token needs to know of its logits.

#include "runtime/graph.h"

namespace vkformer {

struct TopK {
  Value values;   ///< [.., count]
  Value indices;  ///< i32 [.., count]
};

/// The `count` largest elements of each row of x [.., C], the largest first, of equal ones the one with the lower
/// index. NaN counts as larger than any number, so that it is seen. Not differentiable. Throws Error unless 1 <= count
/// <= C and count <= most_top_k.
TopK top_k(Graph& graph, Value x, int64_t count);
constexpr int64_t most_top_k = 256;

}  // namespace vkformer
