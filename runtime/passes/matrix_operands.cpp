#include "runtime/passes/matrix_operands.h"

#include <map>

#include "runtime/passes/rewrite.h"
#include "shaders/attention/attention.h"
#include "shaders/cast/cast.h"
#include "shaders/common/result_type.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/matmul/matmul_kernels.h"
#include "shaders/rms_norm/rms_norm.h"

namespace vkformer {

namespace {

/// What both operands of a product should be; f32: what they are.
DType product_type(const Node& node, const DeviceFacts& facts) {
  if (!is_matmul(node) || node.in(1).rank() != 2 || node.input_types[0].dtype != DType::f32) return DType::f32;
  const DType weight = node.input_types[1].dtype;
  const DType type = is_blocks(weight) ? DType::f16 : weight;
  return is_half(type) && matrix_cores_pay(matmul_problem(node), facts) && facts.has_matrix_cores(type) ? type
                                                                                                        : DType::f32;
}

/// By value id: what all that read it make of it first; f32 but for the rows of products on matrix cores.
std::map<int32_t, DType> read_types(const Graph& graph, const DeviceFacts& facts) {
  std::map<int32_t, DType> types;
  const auto read = [&](Value value, DType type) {
    DType& known = types.try_emplace(value.id, type).first->second;
    if (known != type) known = DType::f32;
  };
  for (const Node& node : graph.nodes()) {
    const DType rows = product_type(node, facts);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i]) read(node.inputs[i], i == 0 ? rows : DType::f32);
  }
  for (Value output : graph.outputs()) read(output, DType::f32);
  return types;
}

}  // namespace

Graph with_matrix_operands(const Graph& graph, const DeviceFacts& facts) {
  const std::map<int32_t, DType> types = read_types(graph, facts);
  std::map<std::pair<int32_t, DType>, Value> casts;  // what several nodes read is rounded once
  const auto add = [&](Rewritten& copy, const Node& node, Values inputs) {
    const auto found = types.find(node.outputs[0].id);
    const DType read = found == types.end() ? DType::f32 : found->second;
    const bool whole_words = node.out(0).columns() % 2 == 0;
    DType type = product_type(node, facts);
    size_t operands = 2;
    Attributes attributes = node.attributes;
    if (is_attention(node)) {
      operands = 3;
      if (matrix_attention_pays(node, read, facts)) type = read;
    } else if (whole_words && (is_rms_norm(node) || is_layer_norm(node) || is_gated_unit(node))) {
      set_saturated_result(attributes, read);
    }
    for (size_t i = 0; i < operands && type != DType::f32; ++i) {
      if (!inputs[i]) continue;
      Value& known = casts[{inputs[i].id, type}];
      inputs[i] = known = known ? known : cast(copy.graph, inputs[i], type, true);
    }
    return copy.graph.add(*node.op, std::move(inputs), std::move(attributes));
  };
  return rewrite(graph, {.add = add}).graph;
}

}  // namespace vkformer
