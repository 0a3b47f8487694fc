#pragma once
// Operands for matrix cores.

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// The same graph for a device with matrix cores: products of many rows with 16-bit weights get rows rounded to that
/// type (what an f16 can't hold: to the largest), and those with encoded blocks both operands in f16, the blocks
/// decoded once for the whole product; products of experts get rows of that type alone. Attention whose result only
/// such products of one type read gets queries, keys and values of that type where that pays, an f32 cache rounded as a
/// whole, and gives it. Norms, gated units and such products themselves, unless another kernel would go first then,
/// write it (saturated, too) where all that read them take it: these products, attention, and caches of that type, also
/// behind norms of heads, rotations, and ranges of columns that are taken or joined. Others are rounded in a pass of
/// their own. Not to be differentiated; few rows, as in decoding, stay as they are, and so does all where matrix cores
/// are not what products should run on.
Graph with_matrix_operands(const Graph& graph, const DeviceFacts& facts);

}  // namespace vkformer
