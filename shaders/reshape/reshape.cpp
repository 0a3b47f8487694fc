#include "shaders/reshape/reshape.h"

#include "runtime/op.h"

namespace vkformer {

namespace {

constexpr std::string_view axis_names[] = {"d0", "d1", "d2", "d3", "d4", "d5"};
static_assert(std::size(axis_names) == Shape::max_rank);

Attributes attributes_of(const Shape& shape) {
  Attributes attributes{{"rank", shape.rank()}};
  for (int i = 0; i < shape.rank(); ++i) attributes.set(axis_names[i], static_cast<double>(shape[i]));
  return attributes;
}

Types infer(const Node& node) {
  std::vector<int64_t> dimensions;
  for (int64_t i = 0; i < node.integer("rank"); ++i) dimensions.push_back(node.integer(axis_names[i]));
  const Shape shape(dimensions);
  check(shape.elements() == node.in(0).elements(), "[reshape] {} has {} elements, {} has {}", node.in(0).to_string(),
        node.in(0).elements(), shape.to_string(), shape.elements());
  const DType dtype = node.input_types[0].dtype;
  check(!is_blocks(dtype) || (shape.rank() > 0 && shape.columns() == node.in(0).columns()),
        "[reshape] {} to {}: rows of {} stay as long as they are", node.in(0).to_string(), shape.to_string(),
        name_of(dtype));
  return {{shape, dtype}};
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  return {reshape(graph, upstream[0], node.in(0))};
}

// The output starts as the input's data, and that is all there is to do.
void reference(const Node&, Inputs, Outputs) {}

std::vector<Case> cases() {
  return {{.inputs = {{.type = {{2, 3, 5}}}}, .attributes = attributes_of({6, 5})},
          {.inputs = {{.type = {{7}}}}, .attributes = attributes_of({1, 7, 1})},
          {.inputs = {{.type = {{3, 2, 5}, DType::f16}}}, .attributes = attributes_of({6, 5})}};
}

Cost cost(const Node&) { return {}; }

const Op reshape_op{.name = "reshape",
                    .infer = infer,
                    .gradient = gradient,
                    .reference = reference,
                    .cases = cases,
                    .cost = cost,
                    .aliases = {0},
                    .half_inputs = 0b1,
                    .block_inputs = 0b1};

}  // namespace

Value reshape(Graph& graph, Value x, const Shape& shape) {
  return graph.shape(x) == shape ? x : graph.apply(reshape_op, {x}, attributes_of(shape));
}

}  // namespace vkformer

VKFORMER_OPS(reshape, &vkformer::reshape_op)
