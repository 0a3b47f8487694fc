// A case whose result lies where an operand was.

#include "runtime/conform/checks.h"
#include "runtime/storage.h"

namespace vkformer {

namespace {

/// The same numbers in a temporary.
Value copy(Graph& graph, Value value) { return graph.apply(*find_op("scale"), {value}, {{"factor", 1}}); }

}  // namespace

std::optional<Graph> in_place_graph(const Op& op, const Case& c) {
  const CaseGraph plain = build(op, c);
  const int reused = reusable_input(plain.graph.nodes().front());
  if (reused < 0) return {};
  const TensorType type = plain.graph.info(plain.inputs[static_cast<size_t>(reused)]).type;
  const TensorType result = plain.graph.info(plain.outputs.front()).type;
  if (type.dtype == DType::i32 || is_blocks(type.dtype) || result != type) return {};

  // What the host writes or reads stays where it is, so both are copied.
  Graph graph;
  Values inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    inputs.push_back(c.inputs[i].absent ? Value{}
                                        : graph.input(input_name(i), c.inputs[i].type.shape, c.inputs[i].type.dtype));
  Value& operand = inputs[static_cast<size_t>(reused)];
  operand = copy(graph, operand);
  Values outputs = graph.add(op, inputs, c.attributes);
  outputs.front() = copy(graph, outputs.front());
  for (size_t o = 0; o < outputs.size(); ++o) graph.mark_output(outputs[o], output_name(o));
  return graph;
}

}  // namespace vkformer
