#pragma once
// Copies of whole graphs with something changed, so that no family knows of it.

#include <functional>

#include "runtime/graph.h"

namespace vkformer {

/// A rewritten graph, and its value for each one of the original.
struct Rewritten {
  Graph graph;
  Values values;

  Value of(Value original) const { return values[static_cast<size_t>(original.id)]; }
};

struct RewriteRules {
  /// Whether a persistent tensor stays; what reads one that doesn't gets an absent value. Absent: all do.
  std::function<bool(const ValueInfo&)> keeps = {};
  /// The type of a persistent tensor; absent: as it was.
  std::function<TensorType(const ValueInfo&)> type_of = {};
  /// The name of a persistent tensor; absent: as it was.
  std::function<std::string(const ValueInfo&)> name_of = {};
  /// Adds what stands for `node`, whose inputs in the copy are `inputs`, and gives its outputs; absent: the same node.
  std::function<Values(Rewritten& copy, const Node& node, Values inputs)> add = {};
};

/// Inputs, persistent tensors with their roles, scopes and outputs stay, nodes follow in their order.
Rewritten rewrite(const Graph& graph, const RewriteRules& rules);

}  // namespace vkformer
