#include "runtime/passes/matrix_operands.h"

#include <map>

#include "runtime/passes/rewrite.h"
#include "shaders/cast/cast.h"
#include "shaders/matmul/matmul.h"
#include "shaders/matmul/matmul_kernels.h"

namespace vkformer {

namespace {

/// What both operands should be; f32: what they are.
DType operand_type(const Node& node, const DeviceFacts& facts) {
  if (!is_matmul(node) || node.in(1).rank() != 2 || node.input_types[0].dtype != DType::f32) return DType::f32;
  const DType weight = node.input_types[1].dtype;
  const DType type = is_blocks(weight) ? DType::f16 : weight;
  return is_half(type) && matrix_cores_pay(matmul_problem(node), facts) && facts.has_matrix_cores(type) ? type
                                                                                                        : DType::f32;
}

}  // namespace

Graph with_matrix_operands(const Graph& graph, const DeviceFacts& facts) {
  std::map<std::pair<int32_t, DType>, Value> casts;  // what several products read is rounded once
  return rewrite(graph, {.add =
                             [&](Rewritten& copy, const Node& node, Values inputs) {
                               const DType type = operand_type(node, facts);
                               for (size_t i = 0; i < 2 && type != DType::f32; ++i) {
                                 Value& known = casts[{inputs[i].id, type}];
                                 inputs[i] = known = known ? known : cast(copy.graph, inputs[i], type, true);
                               }
                               return copy.graph.add(*node.op, std::move(inputs), node.attributes);
                             }})
      .graph;
}

}  // namespace vkformer
