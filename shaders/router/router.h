#pragma once
// Which experts a token goes to: the gate of a mixture of experts (Shazeer et al. 2017), top-k of a softmax, or of
// sigmoids whose choice is balanced by a bias (DeepSeek-AI 2024, "DeepSeek-V3").

#include "runtime/graph.h"

namespace vkformer {

struct Routing {
  Value weights;  ///< [.., count], of the chosen experts
  Value chosen;   ///< i32 [.., count]: which these are, the likeliest first
};

struct RouterRule {
  int64_t count;            ///< experts that are chosen
  bool normalised = false;  ///< their weights are divided by their sum + epsilon
  bool sigmoid = false;     ///< a weight is the sigmoid of a logit, not its share of the softmax over all
  double epsilon = 0;       ///< of sigmoids alone
};

/// The experts with the largest of each row's scores [.., E], of equal ones the one with the lower index, and their
/// weights: softmax or sigmoids of the logits. `bias` [E] is added to these scores to choose by, not to weights; those of
/// a softmax are normalised then.
/// Which experts are chosen is a constant to the gradient. NaN counts as larger than any number. Throws Error unless
/// 1 <= count <= E and E <= most_experts.
Routing router(Graph& graph, Value logits, const RouterRule& rule, Value bias = {});
constexpr int64_t most_experts = 1024;
bool is_router(const Node& node);

}  // namespace vkformer
