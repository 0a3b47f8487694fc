#include "runtime/passes/precision.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "runtime/check.h"
#include "runtime/passes/rewrite.h"
#include "shaders/attention/attention.h"
#include "shaders/cast/cast.h"
#include "shaders/common/result_type.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/matmul/matmul.h"
#include "shaders/resize_rows/resize_rows.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

/// Of a product; a weight is rounded before it gets rows, which are fewer bytes to move then.
bool is_operand(const Node& node, size_t input) {
  if (node.scope == loss_scope) return false;
  return (is_matmul(node) && input < 2) || (is_resize_rows(node) && node.in(0).rank() == 2);
}

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
    return is_operand(node, input) || (is_attention(node) && input < 3);
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
    return values_ ? HalfValues::rounds(node, input) : is_operand(node, input);
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

  /// The value in another type; what several nodes read is rounded once. From one 16-bit type to the other (frozen
  /// weights) by way of f32.
  Value as(Graph& graph, Value value, DType dtype) {
    const DType from = graph.info(value).type.dtype;
    if (from == dtype) return value;
    Value& known = casts_[{value.id, dtype}];
    if (!known) known = cast(graph, is_half(from) && is_half(dtype) ? cast(graph, value, DType::f32) : value, dtype);
    return known;
  }

  std::optional<HalfValues> values_;
  DType dtype_;
  std::map<std::pair<int32_t, DType>, Value> casts_;
};

}  // namespace

Graph with_mixed_precision(const Graph& graph, const MixedPrecision& precision) {
  HalfWriter writer(graph, precision);
  return rewrite(graph, {.add = [&](Rewritten& copy, const Node& node,
                                    Values inputs) { return writer.add(copy, node, std::move(inputs)); }})
      .graph;
}

namespace {

/// Reads persistent tensors as they are stored.
class StoredWriter {
 public:
  StoredWriter(const Graph& from, const StoredTypes& types) : from_(from), types_(types) {}

  bool keeps(const ValueInfo& info) const { return !types_.apart.contains(info.name); }

  TensorType type_of(const ValueInfo& info) const {
    const StoredType type = stored(info);
    const Shape& shape = info.type.shape;
    return {type.turned ? Shape{shape[1], shape[0]} : shape, type.dtype};
  }

  Values add(Rewritten& copy, const Node& node, Values inputs) const {
    if (!is_matmul(node)) return copy.graph.add(*node.op, std::move(inputs), node.attributes);
    const ValueInfo& b = from_.info(node.inputs[1]);
    if (!keeps(b)) return {add_parts(copy.graph, node, inputs)};
    Attributes attributes = node.attributes;
    if (stored(b).turned) attributes.set("transpose_b", !node.flag("transpose_b"));
    return copy.graph.add(*node.op, std::move(inputs), std::move(attributes));
  }

 private:
  StoredType stored(const ValueInfo& info) const {
    const auto known = types_.tensors.find(info.name);
    return known == types_.tensors.end() ? StoredType{info.type.dtype} : known->second;
  }

  Value add_parts(Graph& graph, const Node& node, const Values& inputs) const {
    const std::string& weight = from_.info(node.inputs[1]).name;
    check(node.flag("transpose_b") && node.outputs.size() == 1, "{}: a product with {} can't be cut into its parts",
          node.scope, weight);
    const std::vector<StoredPart>& parts = types_.parts.at(weight);
    std::vector<ColumnRange> results;
    for (size_t i = 0; i < parts.size(); ++i) {
      const StoredPart& part = parts[i];
      const Value b = graph.persistent(part.name, part.shape, Role::parameter, types_.tensors.at(part.name).dtype);
      Value bias;
      if (node.has_input(2)) {
        const StoredPart& part_of_bias = types_.parts.at(from_.info(node.inputs[2]).name).at(i);
        bias = graph.persistent(part_of_bias.name, part_of_bias.shape);
      }
      results.push_back({graph.apply(*node.op, {inputs[0], b, bias, Value{}}, node.attributes)});
    }
    const Value y = join_columns(graph, results);
    return node.has_input(3) ? vkformer::add(graph, y, inputs[3]) : y;
  }

  const Graph& from_;
  const StoredTypes& types_;
};

}  // namespace

Graph with_types(Graph graph, const StoredTypes& types) {
  if (types.tensors.empty()) return graph;
  const StoredWriter writer(graph, types);
  return rewrite(graph, {.keeps = [&](const ValueInfo& info) { return writer.keeps(info); },
                         .type_of = [&](const ValueInfo& info) { return writer.type_of(info); },
                         .add = [&](Rewritten& copy, const Node& node,
                                    Values inputs) { return writer.add(copy, node, std::move(inputs)); }})
      .graph;
}

}  // namespace vkformer
