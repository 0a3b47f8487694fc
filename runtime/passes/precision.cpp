#include "runtime/passes/precision.h"

#include <algorithm>
#include <map>
#include <optional>

#include "shaders/attention/attention.h"
#include "shaders/cast/cast.h"
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
    Graph& graph = copy.graph;
    Values rounded = inputs, operands_alone = inputs, none = inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) continue;
      const bool operand = rounds(node, i);
      if (operand) rounded[i] = operands_alone[i] = as(graph, inputs[i], dtype_);
      if (is_half(graph.info(inputs[i]).type.dtype)) none[i] = as(graph, inputs[i], DType::f32);
      if (!operand) operands_alone[i] = none[i];
    }
    Attributes narrow = node.attributes;
    narrow.set("result", static_cast<double>(dtype_));
    const bool taken =
        values_ && std::ranges::all_of(node.outputs, [&](Value value) { return values_->taken(value); });
    // In 16 bits what it takes; then what it must; then nothing.
    for (const Values& tried : {rounded, operands_alone, none}) {
      const std::optional<Types> usual = types_of(node_of(graph, node, tried, node.attributes));
      const std::optional<Types> result = taken ? types_of(node_of(graph, node, tried, narrow)) : std::nullopt;
      if (result && result != usual) return graph.add(*node.op, tried, narrow);
      if (usual) return graph.add(*node.op, tried, node.attributes);
    }
    return graph.add(*node.op, none, node.attributes);  // says what is wrong
  }

 private:
  bool rounds(const Node& node, size_t input) const {
    return values_ ? HalfValues::rounds(node, input) : is_matmul(node) && input < 2;
  }

  static Node node_of(const Graph& graph, const Node& node, const Values& inputs, const Attributes& attributes) {
    Node changed = node;
    changed.attributes = attributes;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]) changed.input_types[i] = graph.info(inputs[i]).type;
    return changed;
  }

  /// The value in another type; what several nodes read is rounded once.
  Value as(Graph& graph, Value value, DType dtype) {
    const DType from = graph.info(value).type.dtype;
    if (from == dtype || from == DType::i32 || (is_half(from) && dtype != DType::f32)) return value;
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

Graph with_types(Graph graph, const std::map<std::string, DType>& types) {
  if (types.empty()) return graph;
  const auto dtype_of = [&](const ValueInfo& info) {
    const auto known = types.find(info.name);
    return known == types.end() ? info.type.dtype : known->second;
  };
  return rewrite(graph, {.dtype_of = dtype_of}).graph;
}

}  // namespace vkformer
