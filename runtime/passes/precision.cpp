#include "runtime/passes/precision.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "shaders/attention/attention.h"
#include "shaders/cast/cast.h"
#include "shaders/common/result_type.h"
#include "shaders/matmul/matmul.h"

namespace vkformer {

namespace {

std::optional<Types> types_of(const Node& node) {
  try {
    return infer_types(node);
  } catch (const Error&) {
    return {};
  }
}

/// Which values of a graph become 16-bit floats.
class HalfValues {
 public:
  HalfValues(const Graph& graph, DType dtype) : graph_(graph), dtype_(dtype), readers_(graph.value_count()) {
    for (const Node& node : graph.nodes())
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i]) readers_[static_cast<size_t>(node.inputs[i].id)].push_back({&node, i});
  }

  /// Whether all that read a value take it in 16 bits.
  bool taken(Value value) {
    if (graph_.info(value).output) return false;
    const auto [known, unknown] = taken_.try_emplace(value.id, false);
    if (unknown)
      taken_[value.id] = std::ranges::all_of(readers_[static_cast<size_t>(value.id)],
                                             [&](const Reader& reader) { return takes(*reader.node, reader.input); });
    return taken_[value.id];
  }

 private:
  struct Reader {
    const Node* node;
    size_t input;
  };

  bool takes(const Node& node, size_t input) {
    Node changed = node;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (i == input || (rounds(node, i) && rounds(node, input))) changed.input_types[i].dtype = dtype_;
    const std::optional<Types> types = types_of(changed);
    if (!types || rounds(node, input)) return types.has_value();
    // An op whose output follows its input hands the question on.
    for (size_t o = 0; o < types->size(); ++o)
      if ((*types)[o].dtype != node.output_types[o].dtype && !taken(node.outputs[o])) return false;
    return true;
  }

  const Graph& graph_;
  DType dtype_;
  std::vector<std::vector<Reader>> readers_;
  std::map<int32_t, bool> taken_;

 public:
  /// Inputs that are rounded where they are f32: a product's operands; queries, keys and values.
  static bool rounds(const Node& node, size_t input) {
    return (is_matmul(node) && input < 2) || (is_attention(node) && input < 3);
  }
};

/// Adds nodes to a copy with inputs of the types that they take.
class HalfWriter {
 public:
  HalfWriter(const Graph& graph, const MixedPrecision& precision)
      : values_(precision.values ? std::make_optional<HalfValues>(graph, precision.products) : std::nullopt),
        dtype_(precision.products) {}

  Values add(Rewritten& copy, const Node& node, Values inputs) {
    Attributes narrow = node.attributes;
    set_result_type(narrow, dtype_);
    const bool taken = values_ && std::ranges::all_of(node.outputs, [&](Value value) { return values_->taken(value); });
    // In 16 bits what it takes; then what is rounded for it alone; then nothing.
    const auto as_it_is = [](size_t, DType dtype) { return dtype; };
    const auto f32 = [](size_t, DType dtype) { return is_half(dtype) ? DType::f32 : dtype; };
    for (const auto& others :
         {std::function<DType(size_t, DType)>(as_it_is), std::function<DType(size_t, DType)>(f32)}) {
      const auto rounded = [&](size_t i, DType dtype) { return rounds(node, i) ? dtype_ : others(i, dtype); };
      const Node usual = typed(copy.graph, node, inputs, rounded);
      Node result = usual;
      result.attributes = narrow;
      const std::optional<Types> usual_types = types_of(usual), result_types = types_of(result);
      if (taken && result_types && result_types != usual_types) return add_as(copy.graph, result, inputs);
      if (usual_types) return add_as(copy.graph, usual, inputs);
    }
    return add_as(copy.graph, typed(copy.graph, node, inputs, f32), inputs);
  }

 private:
  bool rounds(const Node& node, size_t input) const {
    return values_ ? HalfValues::rounds(node, input) : is_matmul(node) && input < 2;
  }

  /// The node with other types of its inputs.
  static Node typed(const Graph& graph, Node node, const Values& inputs,
                    const std::function<DType(size_t, DType)>& type) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]) node.input_types[i].dtype = type(i, graph.info(inputs[i]).type.dtype);
    return node;
  }

  /// Of these values, cast to the node's types.
  Values add_as(Graph& graph, const Node& node, Values inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]) inputs[i] = as(graph, inputs[i], node.input_types[i].dtype);
    return graph.add(*node.op, std::move(inputs), node.attributes);
  }

  /// The value in another type; what several nodes read is rounded once.
  Value as(Graph& graph, Value value, DType dtype) {
    if (graph.info(value).type.dtype == dtype) return value;
    Value& known = casts_[value.id];
    if (!known) known = cast(graph, value, dtype);
    return known;
  }

  std::optional<HalfValues> values_;
  DType dtype_;
  std::map<int32_t, Value> casts_;
};

}  // namespace

Rewritten with_mixed_precision(const Graph& graph, const MixedPrecision& precision) {
  if (!is_half(precision.products)) return rewrite(graph, {});
  HalfWriter writer(graph, precision);
  return rewrite(graph, {.add = [&](Rewritten& copy, const Node& node, Values inputs) {
                   return writer.add(copy, node, std::move(inputs));
                 }});
}

Graph with_types(Graph graph, const std::map<std::string, StoredType>& types) {
  if (types.empty()) return graph;
  const auto stored = [&](const ValueInfo& info) {
    const auto known = types.find(info.name);
    return known == types.end() ? nullptr : &known->second;
  };
  const auto type_of = [&](const ValueInfo& info) -> TensorType {
    const StoredType* type = stored(info);
    if (!type) return info.type;
    const Shape& shape = info.type.shape;
    return {type->turned ? Shape{shape[1], shape[0]} : shape, type->dtype};
  };
  const auto add = [&](Rewritten& copy, const Node& node, Values inputs) {
    Attributes attributes = node.attributes;
    const StoredType* b = is_matmul(node) ? stored(graph.info(node.inputs[1])) : nullptr;
    if (b && b->turned) attributes.set("transpose_b", !node.flag("transpose_b"));
    return copy.graph.add(*node.op, std::move(inputs), std::move(attributes));
  };
  return rewrite(graph, {.type_of = type_of, .add = add}).graph;
}

}  // namespace vkformer
