#include "models/generation/stored_weights.h"

#include <map>
#include <optional>

#include "models/generation/generation.h"
#include "runtime/check.h"
#include "runtime/op.h"
#include "runtime/passes/precision.h"
#include "shaders/matmul/matmul.h"

namespace vkformer {

namespace {

const std::string& name_in_graphs(const ParameterSpec& parameter) {
  return parameter.joint.empty() ? parameter.name : parameter.joint;
}

bool operator==(const StoredType& a, const StoredType& b) { return a.dtype == b.dtype && a.turned == b.turned; }

/// How input i of a node might be stored instead of in f32; nothing: the node does not take it.
std::optional<StoredType> stored_for(const Node& node, size_t i, DType dtype) {
  const bool turned =
      is_blocks(dtype) && is_matmul(node) && i == 1 && node.in(1).rank() == 2 && !node.flag("transpose_b");
  Node stored = node;
  if (turned) {
    stored.input_types[1].shape = Shape{node.in(1)[1], node.in(1)[0]};
    stored.attributes.set("transpose_b", true);
  }
  const DType fitting = fitting_type(dtype, stored.in(i).columns());
  if (!takes(stored, i, fitting)) return {};
  return StoredType{fitting, turned};
}

}  // namespace

DType fitting_type(DType dtype, int64_t columns) {
  const auto fits = [columns](DType type) { return columns % format_of(type).values == 0; };
  if (fits(dtype)) return dtype;
  const DType smaller = [dtype] {
    switch (dtype) {
      case DType::q2_k:
      case DType::q3_k: return DType::q4_0;
      case DType::q4_k: return DType::q5_0;
      case DType::q5_k: return DType::q5_1;
      case DType::q6_k: return DType::q8_0;
      case DType::iq4_xs: return DType::iq4_nl;
      default: return DType::f16;
    }
  }();
  return fits(smaller) ? smaller : DType::f16;
}

void store_weights_as(Model& model, DType dtype) {
  std::map<std::string, std::optional<StoredType>> types;  // nothing: some node reads it in f32 alone
  const auto visit = [&](const Graph& graph) {
    for (const Node& node : graph.nodes())
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i] || graph.info(node.inputs[i]).storage != Storage::persistent) continue;
        const auto type = stored_for(node, i, dtype);
        const auto [known, first] = types.emplace(graph.info(node.inputs[i]).name, type);
        if (!first && !(known->second && type && *known->second == *type)) known->second.reset();
      }
  };
  check(model.generates(), "this {} model does not write text; only then weights may be {}", model.family,
        name_of(dtype));
  const GeneratorShape smallest{.capacity = 1, .source_positions = model.has_encoder() ? 1 : 0};
  visit(build_generation(model, smallest, 1));
  if (model.has_encoder()) visit(build_encoder(model, smallest));
  for (ParameterSpec& parameter : model.parameters)
    if (const auto known = types.find(name_in_graphs(parameter)); known != types.end() && known->second) {
      parameter.dtype = known->second->dtype;
      parameter.turned = known->second->turned;
    }
}

Graph with_stored_types(Graph graph, const Model& model) {
  std::map<std::string, StoredType> types;
  for (const ParameterSpec& parameter : model.parameters)
    if (parameter.dtype != DType::f32) types[name_in_graphs(parameter)] = {parameter.dtype, parameter.turned};
  return with_types(std::move(graph), types);
}

}  // namespace vkformer
