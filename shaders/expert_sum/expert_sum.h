#pragma once
// What the experts of a token found, as one.

#include "runtime/graph.h"

namespace vkformer {

/// y = sum over j of weights[.., j] x[.., j, :], plus residual, in the order residual, 0, 1, ... x [.., k, C], weights
/// [.., k] (absent: all 1), residual [.., C] or absent; y [.., C]. Throws Error when the shapes disagree.
Value expert_sum(Graph& graph, Value x, Value weights, Value residual = {});
bool is_expert_sum(const Node& node);

}  // namespace vkformer
