#include "models/generation/stored_weights.h"

#include <map>
#include <set>

#include "models/generation/generation.h"
#include "runtime/check.h"
#include "runtime/op.h"
#include "runtime/passes/precision.h"

namespace vkformer {

namespace {

const std::string& name_in_graphs(const ParameterSpec& parameter) {
  return parameter.joint.empty() ? parameter.name : parameter.joint;
}

}  // namespace

void store_weights_as(Model& model, DType dtype) {
  std::set<std::string> weights, others;
  const auto visit = [&](const Graph& graph) {
    for (const Node& node : graph.nodes())
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i] || graph.info(node.inputs[i]).storage != Storage::persistent) continue;
        (takes(node, i, dtype) ? weights : others).insert(graph.info(node.inputs[i]).name);
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
  return with_types(std::move(graph), types);
}

}  // namespace vkformer
