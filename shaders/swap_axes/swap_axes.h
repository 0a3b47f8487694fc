#pragma once
// Swaps two neighbouring dimensions.

#include "runtime/graph.h"

namespace vkformer {

/// y with dimensions first_axis and first_axis + 1 of x (rank 2 to 6) exchanged, as PyTorch's
/// x.transpose(first_axis, first_axis + 1).contiguous(): [.., A, B, ..] -> [.., B, A, ..]. Where one of the two is 1
/// this is a reshape. x is f32, or of 16 bits, which move in words of two: then what follows the two must be even.
/// Throws Error when x does not have both axes.
Value swap_axes(Graph& graph, Value x, int64_t first_axis);

}  // namespace vkformer
