#include "runtime/autodiff.h"

#include <algorithm>
#include <optional>

#include "runtime/op.h"
#include "runtime/recompute.h"

namespace vkformer {

namespace {

/// total + contribution: by the node that computes the contribution, if its op can add.
Value sum(Graph& graph, Value total, Value contribution, const Op& add_op) {
  if (const int producer = graph.info(contribution).producer; producer >= 0) {
    const Node node = graph.nodes()[static_cast<size_t>(producer)];  // a copy: the graph grows
    const auto addend = static_cast<size_t>(node.op->addend);
    if (node.op->addend >= 0 && node.outputs[0] == contribution && !node.has_input(addend)) {
      Values inputs = node.inputs;
      inputs.resize(std::max(inputs.size(), addend + 1));
      inputs[addend] = total;
      return graph.apply(*node.op, inputs, node.attributes);  // the other node is dead now
    }
  }
  return graph.apply(add_op, {total, contribution});
}

}  // namespace

Values differentiate(Graph& graph, Value loss, Value seed, std::span<const Value> wanted, bool recompute) {
  const size_t forward_nodes = graph.nodes().size();
  const Op* add_op = find_op("add");
  check(add_op != nullptr, "the registry has no op 'add', which sums gradients");
  // A value matters when it leads from a wanted value; only those get gradients.
  std::vector<char> matters(graph.value_count());
  for (Value value : wanted) matters[static_cast<size_t>(value.id)] = 1;
  for (const Node& node : graph.nodes()) {
    bool any = false;
    for (Value input : node.inputs) any = any || (input && matters[static_cast<size_t>(input.id)]);
    if (any)
      for (Value output : node.outputs) matters[static_cast<size_t>(output.id)] = 1;
  }

  std::vector<Value> gradient_of(graph.value_count());
  gradient_of[static_cast<size_t>(loss.id)] = seed;
  std::optional<Recomputation> recomputation;
  if (recompute) recomputation.emplace(graph);
  const std::string outer_scope = graph.scope();
  for (size_t n = forward_nodes; n-- > 0;) {
    const Node node = graph.nodes()[n];  // a copy: the rule appends nodes
    Values upstream;
    bool flows = false, needed = false;
    for (Value output : node.outputs) {
      upstream.push_back(gradient_of[static_cast<size_t>(output.id)]);
      flows = flows || upstream.back();
    }
    for (Value input : node.inputs) needed = needed || (input && matters[static_cast<size_t>(input.id)]);
    if (!flows || !needed) continue;
    check(node.op->gradient != nullptr, "[{}] has no gradient, but the loss depends on a trained tensor through it",
          node.op->name);
    graph.set_scope(node.scope);
    const Values contributions =
        node.op->gradient(graph, recomputation ? recomputation->node(graph, n) : node, upstream);
    check(contributions.size() <= node.inputs.size(), "[{}] its gradient rule gives {} gradients for {} inputs",
          node.op->name, contributions.size(), node.inputs.size());
    for (size_t i = 0; i < contributions.size(); ++i) {
      if (!contributions[i] || !node.inputs[i]) continue;
      if (!matters[static_cast<size_t>(node.inputs[i].id)]) continue;
      check(graph.shape(contributions[i]) == node.in(i), "[{}] gradient {} has shape {}, the input {}", node.op->name,
            i, graph.shape(contributions[i]).to_string(), node.in(i).to_string());
      Value& total = gradient_of[static_cast<size_t>(node.inputs[i].id)];
      total = total ? sum(graph, total, contributions[i], *add_op) : contributions[i];
    }
  }
  graph.set_scope(outer_scope);
  Values gradients;
  for (Value value : wanted) gradients.push_back(gradient_of[static_cast<size_t>(value.id)]);
  return gradients;
}

}  // namespace vkformer
