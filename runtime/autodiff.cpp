#include "runtime/autodiff.h"

#include <algorithm>
#include <optional>

#include "runtime/op.h"
#include "runtime/passes/recompute.h"
#include "shaders/cast/cast.h"

namespace vkformer {

namespace {

/// Whether the node that computes `part` can add `total` itself: nobody else has seen the part, and the total is there.
bool adds_itself(const Graph& graph, Value total, Value part) {
  const int producer = graph.info(part).producer;
  if (producer < 0 || graph.info(total).producer >= producer) return false;
  const std::vector<Node>& nodes = graph.nodes();
  const Node& node = nodes[static_cast<size_t>(producer)];
  const int addend = node.op->addend;
  if (addend < 0 || node.has_input(static_cast<size_t>(addend)) || node.outputs[0] != part) return false;
  if (graph.info(total).type.dtype != graph.info(part).type.dtype) return false;
  return std::none_of(nodes.begin() + producer + 1, nodes.end(), [&](const Node& later) {
    return std::find(later.inputs.begin(), later.inputs.end(), part) != later.inputs.end();
  });
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
    const Node seen = recomputation ? recomputation->node(graph, n) : node;
    const int first_of_rule = static_cast<int>(graph.nodes().size());
    const Values contributions = node.op->gradient(graph, seen, upstream);
    check(contributions.size() <= node.inputs.size(), "[{}] its gradient rule gives {} gradients for {} inputs",
          node.op->name, contributions.size(), node.inputs.size());
    for (size_t i = 0; i < contributions.size(); ++i) {
      if (!contributions[i] || !node.inputs[i]) continue;
      if (!matters[static_cast<size_t>(node.inputs[i].id)]) continue;
      check(graph.shape(contributions[i]) == node.in(i), "[{}] gradient {} has shape {}, the input {}", node.op->name,
            i, graph.shape(contributions[i]).to_string(), node.in(i).to_string());
      Value& total = gradient_of[static_cast<size_t>(node.inputs[i].id)];
      Value part = contributions[i];
      const int producer = graph.info(part).producer;
      const bool own = producer >= first_of_rule && std::count(contributions.begin(), contributions.end(), part) == 1;
      if (total && own && adds_itself(graph, total, part)) {
        graph.supply(producer, static_cast<size_t>(graph.nodes()[static_cast<size_t>(producer)].op->addend), total);
        total = part;
      } else if (!total) {
        total = part;
      } else {
        if (graph.info(total).type.dtype != graph.info(part).type.dtype) {
          total = cast(graph, total, DType::f32);
          part = cast(graph, part, DType::f32);
        }
        total = graph.apply(*add_op, {total, part});
      }
    }
  }
  graph.set_scope(outer_scope);
  Values gradients;
  for (Value value : wanted) gradients.push_back(gradient_of[static_cast<size_t>(value.id)]);
  return gradients;
}

}  // namespace vkformer
