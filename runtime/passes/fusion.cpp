#include "runtime/passes/fusion.h"

#include <map>
#include <set>

#include "runtime/op.h"
#include "runtime/passes/rewrite.h"
#include "shaders/attention/cached_attention.h"
#include "shaders/cache_write/cache_write.h"
#include "shaders/cached_row/cached_row.h"
#include "shaders/expert_product/expert_product.h"
#include "shaders/expert_sum/expert_sum.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/latent_query/latent_query.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/normed_product/normed_product.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

/// By value id: how often nodes and the host read it.
std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.value_count());
  for (const Node& node : graph.nodes())
    for (Value input : node.inputs)
      if (input) ++uses[static_cast<size_t>(input.id)];
  for (Value output : graph.outputs()) ++uses[static_cast<size_t>(output.id)];
  return uses;
}

}  // namespace

Graph fused(const Graph& graph, const DeviceFacts& facts) {
  const std::vector<int> uses = count_uses(graph);
  std::map<const Node*, CachedAttention> cached;  // by the attention
  std::set<const Node*> gone;                     // caches are written by these attentions
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (const auto found = find_cached_attention(graph, static_cast<int>(i), uses, facts)) {
      cached.emplace(&graph.nodes()[i], *found);
      gone.insert(&graph.nodes()[static_cast<size_t>(found->write)]);
    }
  const auto unused = [&](Value value) { return uses[static_cast<size_t>(value.id)] == 0; };
  const auto used_once = [&](Value value) { return uses[static_cast<size_t>(value.id)] == 1; };
  const auto add = [&](Rewritten& copy, const Node& node, Values inputs) -> Values {
    if (gone.contains(&node)) return {inputs[0]};
    if (const auto found = cached.find(&node); found != cached.end())
      return {fuse_cache(copy.graph, graph, found->second, [&](Value value) { return copy.of(value); })};
    const auto with_inputs = [&] {
      Node changed = node;
      changed.inputs = inputs;
      return changed;
    };
    if (is_cache_write(node) && used_once(node.inputs[1]))
      if (const Value cache = fuse_cached_row(copy.graph, with_inputs(), facts)) return {cache};
    if (is_join_columns(node))
      if (const Value query = fuse_latent_query(copy.graph, with_inputs(), facts)) return {query};
    const bool is_product = is_matmul(node), is_gate = is_gated_unit(node), is_sum = is_expert_sum(node);
    if (is_product || is_gate || is_sum)
      if (const Node* found = source_of(copy.graph, inputs[0])) {
        const Node source = *found;  // adding nodes moves the graph's
        Value y;
        if (is_product && (is_rms_norm(source) || is_layer_norm(source)) &&
            (node.outputs.size() == 1 || unused(node.outputs[1])))
          y = fuse_norm(copy.graph, source, with_inputs(), facts);
        if (is_gate && used_once(node.inputs[0])) {
          y = fuse_gate(copy.graph, source, node, facts);
          if (!y) y = fuse_expert_gate(copy.graph, source, node, facts);
        }
        if (is_sum && used_once(node.inputs[0])) y = fuse_expert_sum(copy.graph, source, with_inputs(), facts);
        if (y) return {y};
      }
    return copy.graph.add(*node.op, std::move(inputs), node.attributes);
  };
  return rewrite(graph, {.add = add}).graph;
}

}  // namespace vkformer
