#pragma once
// A vector added to every row.

#include "runtime/graph.h"

namespace vkformer {

/// x [.., C] + bias [C]. Throws Error when the widths differ.
Value add_bias(Graph& graph, Value x, Value bias);

}  // namespace vkformer
