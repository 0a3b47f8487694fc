#include "runtime/passes/copied_weights.h"

#include "runtime/passes/rewrite.h"
#include "shaders/expert_matmul/expert_matmul.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rows/rows.h"

namespace vkformer {

namespace {

/// Rows of the smallest blocks of products: of no more a kernel reads a weight once.
constexpr int64_t most_in_place = 64;

bool copies_weight(const Graph& graph, const Node& node, const StoreLayout& store) {
  if (!is_matmul(node) && !is_expert_matmul(node)) return false;
  const ValueInfo& weight = graph.info(node.inputs[1]);
  if (weight.storage != Storage::persistent || !store.in_host(weight.name)) return false;
  const Shape& shape = weight.type.shape;
  // Those that each expert has on average; a matmul's matrices of a rank above 2 have rows of their own each.
  const int64_t products = shape.rank() > 2 ? shape.elements() / (shape[-1] * shape[-2]) : 1;
  const bool whole_words = !is_half(weight.type.dtype) || shape.elements() % 2 == 0;
  return node.out(0).rows() > most_in_place * products && whole_words;
}

}  // namespace

Graph with_copied_weights(Graph graph, const StoreLayout& store) {
  if (store.host_bytes() == 0) return graph;
  std::vector<const Node*> products;
  for (const Node& node : graph.nodes())
    if (copies_weight(graph, node, store)) products.push_back(&node);
  if (products.empty()) return graph;
  Values copies;
  const auto copy_next = [&](Rewritten& to) {
    const size_t next = copies.size();
    if (next == products.size()) return;
    const Value weight = products[next]->inputs[1];
    if (next > 0 && products[next - 1]->inputs[1] == weight) return copies.push_back(copies.back());
    const std::string outer = to.graph.scope();
    to.graph.set_scope(products[next]->scope);
    const Shape& shape = graph.shape(weight);
    copies.push_back(reshape(to.graph, rows(to.graph, to.of(weight), 0, shape.rows()), shape));
    to.graph.set_scope(outer);
  };
  size_t done = 0;
  const auto add = [&](Rewritten& to, const Node& node, Values inputs) {
    if (done < products.size() && products[done] == &node) {
      if (done == 0) copy_next(to);
      copy_next(to);
      inputs[1] = copies[done++];
    }
    return to.graph.add(*node.op, std::move(inputs), node.attributes);
  };
  return rewrite(graph, {.add = add}).graph;
}

}  // namespace vkformer
