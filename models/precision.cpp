#include "models/precision.h"

#include <functional>
#include <map>
#include <set>

#include "models/generation.h"
#include "runtime/check.h"
#include "shaders/cast/cast.h"

namespace vkformer {

namespace {

/// Copies a graph; `dtype_of` chooses the types of persistent tensors, `before` may replace a node's inputs.
class Rewriter {
 public:
  using DTypeOf = std::function<DType(const ValueInfo&)>;
  using Before = std::function<void(Graph&, const Node&, Values& inputs)>;

  Rewriter(const Graph& from, const DTypeOf& dtype_of, const Before& before) : from_(from) {
    result_.values.resize(from.value_count());
    for (Value input : from.inputs())
      set(input, result_.graph.input(info(input).name, info(input).type.shape, info(input).type.dtype));
    for (Value tensor : from.persistents())
      set(tensor, result_.graph.persistent(info(tensor).name, info(tensor).type.shape, dtype_of(info(tensor))));
    for (const Node& node : from.nodes()) {
      const Graph::Scope scope(result_.graph, node.scope);
      Values inputs;
      for (Value input : node.inputs) inputs.push_back(input ? get(input) : Value{});
      before(result_.graph, node, inputs);
      const Values outputs = result_.graph.add(*node.op, std::move(inputs), node.attributes);
      for (size_t o = 0; o < outputs.size(); ++o) set(node.outputs[o], outputs[o]);
    }
    for (Value output : from.outputs()) result_.graph.mark_output(get(output), info(output).name);
  }
  Rewritten take() { return std::move(result_); }

 private:
  const ValueInfo& info(Value value) const { return from_.info(value); }
  Value get(Value value) const { return result_.values[static_cast<size_t>(value.id)]; }
  void set(Value value, Value copy) { result_.values[static_cast<size_t>(value.id)] = copy; }

  const Graph& from_;
  Rewritten result_;
};

const std::string& name_in_graphs(const ParameterSpec& parameter) {
  return parameter.joint.empty() ? parameter.name : parameter.joint;
}

DType same_dtype(const ValueInfo& info) { return info.type.dtype; }

}  // namespace

Rewritten with_half_products(const Graph& graph, DType dtype) {
  std::map<int32_t, Value> casts;  // a value that several products read is rounded once
  const auto before = [&](Graph& result, const Node& node, Values& inputs) {
    if (node.op->name != "matmul") return;
    for (size_t i : {0, 1}) {
      if (result.info(inputs[i]).type.dtype != DType::f32) continue;
      Value& rounded = casts[inputs[i].id];
      if (!rounded) rounded = cast(result, inputs[i], dtype);
      inputs[i] = rounded;
    }
  };
  return Rewriter(graph, same_dtype, before).take();
}

void store_weights_as(Model& model, DType dtype) {
  std::set<std::string> weights, others;
  const auto visit = [&](const Graph& graph) {
    for (const Node& node : graph.nodes())
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i] || graph.info(node.inputs[i]).storage != Storage::persistent) continue;
        const bool weight = (node.op->name == "matmul" && i == 1) || (node.op->name == "embedding" && i == 0);
        (weight ? weights : others).insert(graph.info(node.inputs[i]).name);
      }
  };
  check(model.generates(), "this {} model does not write text; only then weights may be {}", model.family,
        name_of(dtype));
  const GeneratorShape smallest{.capacity = 1, .source_positions = model.has_encoder() ? 1 : 0};
  visit(build_generation(model, smallest, 1));
  if (model.has_encoder()) visit(build_encoder(model, smallest));
  for (ParameterSpec& parameter : model.parameters)
    if (const std::string& name = name_in_graphs(parameter); weights.contains(name) && !others.contains(name))
      parameter.dtype = dtype;
}

Graph with_stored_types(Graph graph, const Model& model) {
  std::map<std::string, DType> types;
  for (const ParameterSpec& parameter : model.parameters)
    if (parameter.dtype != DType::f32) types[name_in_graphs(parameter)] = parameter.dtype;
  if (types.empty()) return graph;
  const auto dtype_of = [&](const ValueInfo& info) {
    const auto known = types.find(info.name);
    return known == types.end() ? info.type.dtype : known->second;
  };
  return Rewriter(graph, dtype_of, [](Graph&, const Node&, Values&) {}).take().graph;
}

}  // namespace vkformer
