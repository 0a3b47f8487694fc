#pragma once
// Operands for matrix cores.

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// The same graph for a device with matrix cores: products of many rows with 16-bit weights get rows rounded to that
/// type (what an f16 can't hold: to the largest), and those with encoded blocks both operands in f16, the blocks
/// decoded once for the whole product. Attention whose result only such products of one type read gets queries, keys
/// and values of that type where that pays, an f32 cache rounded as a whole, and gives it. Norms, gated units and such
/// products themselves write it (saturated, too) where all that read them take it: these products, attention, and,
/// through a rotation or not, caches of that type. So nothing but f32 caches is rounded in a pass of its own. Not to be
/// differentiated; few rows, as in decoding, stay as they are, and so does all where matrix cores are not what products
/// should run on.
Graph with_matrix_operands(const Graph& graph, const DeviceFacts& facts);

}  // namespace vkformer
