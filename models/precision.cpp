#include "models/precision.h"

#include <functional>
#include <map>

#include "runtime/op.h"
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

std::set<std::string> product_weights(const Graph& graph) {
  std::set<std::string> names, others;
  for (const Node& node : graph.nodes())
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i]) continue;
      const ValueInfo& info = graph.info(node.inputs[i]);
      if (info.storage != Storage::persistent || info.type.dtype != DType::f32) continue;
      const bool weight = (node.op->name == "matmul" && i == 1) || (node.op->name == "embedding" && i == 0);
      (weight ? names : others).insert(info.name);
    }
  for (const std::string& name : others) names.erase(name);
  return names;
}

Rewritten with_half_weights(const Graph& graph, const std::set<std::string>& names, DType dtype) {
  const auto dtype_of = [&](const ValueInfo& info) { return names.contains(info.name) ? dtype : info.type.dtype; };
  return Rewriter(graph, dtype_of, [](Graph&, const Node&, Values&) {}).take();
}

}  // namespace vkformer
