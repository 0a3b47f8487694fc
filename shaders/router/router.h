#pragma once
// Which experts a token goes to: the gate of a mixture of experts (Shazeer et al. 2017), top-k of a softmax.

#include "runtime/graph.h"

namespace vkformer {

struct Routing {
  Value weights;  ///< [.., count], of the chosen experts
  Value chosen;   ///< i32 [.., count]: which these are, the likeliest first
};

/// The `count` experts with the largest of each row's logits [.., E], of equal ones the one with the lower index, and
/// their probabilities under the softmax over all E; `normalised` divides these by their sum. Which experts are chosen
/// is a constant to the gradient. NaN counts as larger than any number. Throws Error unless 1 <= count <= E and
/// E <= most_experts.
Routing router(Graph& graph, Value logits, int64_t count, bool normalised);
constexpr int64_t most_experts = 1024;
bool is_router(const Node& node);

}  // namespace vkformer
