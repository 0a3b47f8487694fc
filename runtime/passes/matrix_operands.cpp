#include "runtime/passes/matrix_operands.h"

#include <map>
#include <ranges>

#include "runtime/passes/rewrite.h"
#include "shaders/attention/attention.h"
#include "shaders/cache_write/cache_write.h"
#include "shaders/cast/cast.h"
#include "shaders/common/result_type.h"
#include "shaders/expert_matmul/expert_matmul.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/head_norm/head_norm.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/matmul/matmul_kernels.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/rope/rope.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

/// What both operands of a product should be; f32: what they are.
DType product_type(const Node& node, const DeviceFacts& facts) {
  if (!is_matmul(node) || node.in(1).rank() != 2) return DType::f32;
  const DType rows = node.input_types[0].dtype, weight = node.input_types[1].dtype;
  if (rows != DType::f32 && rows != weight) return DType::f32;
  const DType type = is_blocks(weight) ? DType::f16 : weight;
  return is_half(type) && matrix_cores_pay(matmul_problem(node), facts) && facts.has_matrix_cores(type) ? type
                                                                                                        : DType::f32;
}

/// Whether columns can be joined in a 16-bit type.
bool joins_as(const Node& node, DType type) {
  if (!is_half(type)) return false;
  Node narrow = node;
  for (TensorType& input : narrow.input_types) input.dtype = type;
  narrow.output_types[0].dtype = type;
  return takes(narrow, 0, type);
}

/// Whether an attention's keys are those of a cache.
bool sees_cache(const Graph& graph, const Node& attention) {
  const ValueInfo& keys = graph.info(attention.inputs[attention.has_input(1) ? 1 : 0]);
  return keys.storage == Storage::persistent ||
         (keys.producer >= 0 && is_cache_write(graph.nodes()[static_cast<size_t>(keys.producer)]));
}

/// What all that read a value make of it first: f32, but for what goes to matrix cores or into a cache of 16 bits.
class ReadTypes {
 public:
  ReadTypes(const Graph& graph, const DeviceFacts& facts) : graph_(graph) {
    for (Value output : graph.outputs()) read(output, DType::f32);
    for (const Node& node : graph.nodes() | std::views::reverse)
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i]) read(node.inputs[i], made_of(node, i, facts));
  }

  DType of(Value value) const {
    const auto found = types_.find(value.id);
    return found == types_.end() ? DType::f32 : found->second;
  }

 private:
  void read(Value value, DType type) {
    DType& known = types_.try_emplace(value.id, type).first->second;
    if (known != type) known = DType::f32;
  }

  /// What the node makes of input i. All that reads its result is known.
  DType made_of(const Node& node, size_t i, const DeviceFacts& facts) const {
    const DType result = of(node.outputs[0]);
    if (i == 0 && is_matmul(node)) return product_type(node, facts);
    const DType experts = i == 0 ? matrix_expert_type(node, facts) : DType::f32;
    if (experts != DType::f32) return experts;
    if (i < 3 && is_attention(node) && matrix_attention_pays(node, result, facts, sees_cache(graph_, node)))
      return result;
    if (i == 1 && is_cache_write(node) && takes(node, i, node.input_types[0].dtype)) return node.input_types[0].dtype;
    if (i == 0 && is_half(result) &&
        (is_rope(node) || is_head_norm(node) || is_slice(node) || node.op->renames_storage())) {
      Node narrow = node;
      narrow.output_types[0].dtype = result;
      if (takes(narrow, 0, result)) return result;
    }
    return is_join_columns(node) && joins_as(node, result) ? result : DType::f32;
  }

  const Graph& graph_;
  std::map<int32_t, DType> types_;
};

/// Whether a product of operands of that type can give it and runs on the kernel that would go first for f32.
bool same_kernel_writes(Node product, DType type, const DeviceFacts& facts) {
  if (product.has_input(3) || product.out(0).columns() % 2 != 0) return false;
  product.input_types[0].dtype = product.input_types[1].dtype = type;
  const std::string_view first = product.op->candidates(product, facts).front();
  set_saturated_result(product.attributes, type);
  const std::vector<std::string_view> narrow = product.op->candidates(product, facts);
  return !narrow.empty() && narrow.front() == first;
}

/// The value in a 16-bit type; what was made of one of that type is that.
Value rounded(Graph& graph, Value value, DType type) {
  const int producer = graph.info(value).producer;
  if (producer >= 0) {
    const Node& node = graph.nodes()[static_cast<size_t>(producer)];
    if (is_cast(node) && node.input_types[0].dtype == type) return node.inputs[0];
  }
  return cast(graph, value, type, true);
}

}  // namespace

Graph with_matrix_operands(const Graph& graph, const DeviceFacts& facts) {
  const ReadTypes types(graph, facts);
  std::map<std::pair<int32_t, DType>, Value> casts;  // what several nodes read is rounded once
  const auto add = [&](Rewritten& copy, const Node& node, Values inputs) {
    const DType read = types.of(node.outputs[0]);
    const bool whole_words = node.out(0).columns() % 2 == 0;
    DType type = product_type(node, facts);
    size_t operands = 2;
    Attributes attributes = node.attributes;
    if (const DType experts = matrix_expert_type(node, facts); experts != DType::f32) {
      operands = 1;
      type = experts;
      set_for_matrix_cores(attributes);
    } else if (is_attention(node)) {
      operands = 3;
      if (matrix_attention_pays(node, read, facts, sees_cache(graph, node))) type = read;
    } else if (is_join_columns(node)) {
      operands = inputs.size();
      if (joins_as(node, read)) type = read;
    } else if (type != DType::f32 && type == read && same_kernel_writes(node, type, facts)) {
      set_saturated_result(attributes, read);
    } else if (is_rope(node)) {
      set_saturated(attributes, copy.graph.info(inputs[0]).type.dtype);
    } else if (whole_words && (is_rms_norm(node) || is_layer_norm(node) || is_gated_unit(node))) {
      set_saturated_result(attributes, read);
    }
    for (size_t i = 0; i < operands && type != DType::f32; ++i) {
      if (!inputs[i]) continue;
      Value& known = casts[{inputs[i].id, type}];
      inputs[i] = known = known ? known : rounded(copy.graph, inputs[i], type);
    }
    return copy.graph.add(*node.op, std::move(inputs), std::move(attributes));
  };
  return rewrite(graph, {.add = add}).graph;
}

}  // namespace vkformer
