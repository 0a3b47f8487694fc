#include "models/stored_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "models/adapters/lora.h"
#include "models/generation/generation.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/op.h"
#include "runtime/passes/matrix_operands.h"
#include "runtime/passes/precision.h"
#include "shaders/matmul/matmul.h"

namespace vkformer {

namespace {

const std::string& name_in_graphs(const ParameterSpec& parameter) {
  return parameter.joint.empty() ? parameter.name : parameter.joint;
}

/// Whether blocks of input i lie along what the node sums over only where it is stored transposed.
bool is_turned(const Node& node, size_t i) {
  return is_matmul(node) && i == 1 && node.in(1).rank() == 2 && !node.flag("transpose_b");
}

/// How input i of a node might be stored instead of in f32; nothing: the node does not take it. `matrix`: it can be
/// transposed, which a parameter of more dimensions that is only read as a matrix can't.
std::optional<StoredType> stored_for(const Node& node, size_t i, DType dtype, bool matrix) {
  const bool turned = matrix && dtype != DType::f32 && is_turned(node, i);
  Node stored = node;
  if (turned) {
    stored.input_types[1].shape = Shape{node.in(1)[1], node.in(1)[0]};
    stored.attributes.set("transpose_b", true);
  }
  const DType fitting = fitting_type(dtype, stored.in(i).columns());
  if (takes(stored, i, fitting)) return StoredType{fitting, turned};
  if (is_blocks(dtype) && takes(node, i, DType::f16)) return StoredType{DType::f16};
  return {};
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

namespace {

/// Which nodes read a tensor, and as which of their inputs.
using Uses = std::map<std::string, std::vector<std::pair<Node, size_t>>>;

void add_uses(const Graph& graph, Uses& uses) {
  std::map<int32_t, Value> of_renamed;  // what a value is under another shape with rows as long
  for (const Node& node : graph.nodes()) {
    if (node.op->renames_storage() && node.in(0).columns() == node.out(0).columns()) {
      const auto before = of_renamed.find(node.inputs[0].id);
      of_renamed[node.outputs[0].id] = before == of_renamed.end() ? node.inputs[0] : before->second;
      continue;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i]) continue;
      const auto renamed = of_renamed.find(node.inputs[i].id);
      const ValueInfo& info = graph.info(renamed == of_renamed.end() ? node.inputs[i] : renamed->second);
      if (info.storage == Storage::persistent) uses[info.name].emplace_back(node, i);
    }
  }
}

void store_as(Model& model, const WantedType& wanted, Uses uses) {
  std::map<std::string, std::set<DType>> of_joint;
  std::set<std::string> whole;  // joint tensors that can't be read part by part: experts'
  for (ParameterSpec& parameter : model.parameters) {
    const auto& readers = uses[name_in_graphs(parameter)];
    if (readers.empty()) continue;
    const bool matrix = parameter.shape.rank() == 2;
    const DType dtype = wanted(parameter, matrix && is_turned(readers[0].first, readers[0].second));
    const auto type = stored_for(readers[0].first, readers[0].second, dtype, matrix);
    const bool fits = dtype != DType::f32 && type && std::ranges::all_of(readers, [&](const auto& reader) {
                        return stored_for(reader.first, reader.second, dtype, matrix) == type;
                      });
    if (fits) {
      parameter.dtype = type->dtype;
      parameter.turned = type->turned;
    }
    if (parameter.joint.empty()) continue;
    of_joint[parameter.joint].insert(parameter.dtype);
    if (!std::ranges::all_of(readers, [](const auto& reader) { return is_matmul(reader.first); }))
      whole.insert(parameter.joint);
  }
  for (ParameterSpec& parameter : model.parameters) {
    const std::set<DType>& types = of_joint[parameter.joint];
    if (parameter.joint.empty() || types.size() < 2) continue;
    parameter.apart = !whole.contains(parameter.joint);
    if (!parameter.apart) parameter.dtype = types.contains(DType::f32) ? DType::f32 : DType::f16;
  }
}

}  // namespace

void store_weights_as(Model& model, const WantedType& wanted) {
  Uses uses;
  if (model.generates()) {
    const GeneratorShape smallest{.capacity = 1, .source_positions = model.has_encoder() ? 1 : 0};
    add_uses(build_generation(model, smallest, 1), uses);
    if (model.has_encoder()) add_uses(build_encoder(model, smallest), uses);
  } else {
    for (const bool segments : {false, model.segments > 0}) {
      Graph graph;
      add_logits(graph, model, add_inputs(graph, model, {.segments = segments}));
      add_uses(graph, uses);
    }
  }
  store_as(model, wanted, std::move(uses));
}

void store_weights_as(Model& model, const WantedType& wanted, const Graph& graph) {
  Uses uses;
  add_uses(graph, uses);
  store_as(model, wanted, std::move(uses));
}

void store_weights_as(Model& model, DType dtype) {
  store_weights_as(model, [dtype](const ParameterSpec&, bool) { return dtype; });
}

void store_weights_as(Model& model, const Weights& files) {
  store_weights_as(
      model, [&](const ParameterSpec& parameter, bool turned) { return files.stored_type(parameter.name, turned); });
}

TypeFallbacks fallbacks_of(const Model& model, DType wanted) {
  TypeFallbacks fallbacks;
  for (const ParameterSpec& parameter : model.parameters) {
    if (parameter.dtype == DType::f32) continue;  // which it is to stay, as norms do
    const Shape& shape = parameter.shape;
    const DType fitting = fitting_type(wanted, parameter.turned ? shape[0] : shape.columns());
    // An op may take no blocks at all, whatever its rows are.
    fallbacks.add(wanted, fitting == wanted ? wanted : parameter.dtype);
  }
  return fallbacks;
}

Graph with_stored_types(Graph graph, const Model& model) {
  StoredTypes types;
  for (const ParameterSpec& parameter : model.parameters) {
    const std::string& name = parameter.apart ? parameter.name : name_in_graphs(parameter);
    if (parameter.dtype != DType::f32 || parameter.apart) types.tensors[name] = {parameter.dtype, parameter.turned};
    if (!parameter.joint.empty()) types.parts[parameter.joint].push_back({parameter.name, parameter.shape});
    if (parameter.apart) types.apart.insert(parameter.joint);
  }
  return with_types(std::move(graph), types);
}

Graph as_stored(Graph graph, const Model& model, const DeviceFacts& device) {
  return with_matrix_operands(with_stored_types(adapted(std::move(graph), model), model), device);
}

}  // namespace vkformer
