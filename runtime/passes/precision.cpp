#include "runtime/passes/precision.h"

#include <map>

#include "shaders/cast/cast.h"
#include "shaders/matmul/matmul.h"

namespace vkformer {

Rewritten with_half_products(const Graph& graph, DType dtype) {
  std::map<int32_t, Value> casts;  // a value that several products read is rounded once
  const auto add = [&](Rewritten& copy, const Node& node, Values inputs) {
    if (is_matmul(node))
      for (size_t i : {0, 1}) {
        if (copy.graph.info(inputs[i]).type.dtype != DType::f32) continue;
        Value& rounded = casts[inputs[i].id];
        if (!rounded) rounded = cast(copy.graph, inputs[i], dtype);
        inputs[i] = rounded;
      }
    return copy.graph.add(*node.op, std::move(inputs), node.attributes);
  };
  return rewrite(graph, {.add = add});
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
