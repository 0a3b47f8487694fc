#pragma once
// A vector added to every row.

#include "runtime/graph.h"

namespace vkformer {

/// x [.., C] + bias [C], of x's type: f32, or with an even C f16 or bf16; the bias is f32. Throws Error when the widths
/// differ.
Value add_bias(Graph& graph, Value x, Value bias);

}  // namespace vkformer
