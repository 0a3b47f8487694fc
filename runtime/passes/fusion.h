#pragma once
// Neighbouring nodes of a graph as one, where a device does that faster. A dispatch takes a software driver 75 to 150
// us, a GPU some, whatever it does, and decoding a token is many small ones.

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// The same graph for that device: a product of what an rms_norm or a layer_norm gives, and a gated_unit that alone
/// reads the product, are one normed_product; an attention of one position over a cache, with what writes and turns its
/// keys, is one cached_attention; products of a token's experts take in the gate or the sum behind them
/// (expert_product), latent attention's row and query what makes them (cached_row, latent_query). A norm that several
/// products read is computed in each. Not to be differentiated.
/// Nodes that nothing reads any more stay; plans leave them out.
Graph fused(const Graph& graph, const DeviceFacts& facts);

}  // namespace vkformer
