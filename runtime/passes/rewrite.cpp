#include "runtime/passes/rewrite.h"

#include "runtime/op.h"

namespace vkformer {

Rewritten rewrite(const Graph& from, const RewriteRules& rules) {
  Rewritten copy;
  copy.values.resize(from.value_count());
  const auto set = [&](Value original, Value value) { copy.values[static_cast<size_t>(original.id)] = value; };
  for (Value input : from.inputs())
    set(input, copy.graph.input(from.info(input).name, from.shape(input), from.info(input).type.dtype));
  for (Value tensor : from.persistents()) {
    const ValueInfo& info = from.info(tensor);
    if (rules.keeps && !rules.keeps(info)) continue;
    const TensorType type = rules.type_of ? rules.type_of(info) : info.type;
    set(tensor,
        copy.graph.persistent(rules.name_of ? rules.name_of(info) : info.name, type.shape, info.role, type.dtype));
  }
  for (const Node& node : from.nodes()) {
    const Graph::Scope scope(copy.graph, node.scope);
    Values inputs;
    for (Value input : node.inputs) inputs.push_back(input ? copy.of(input) : Value{});
    const Values outputs = rules.add ? rules.add(copy, node, std::move(inputs))
                                     : copy.graph.add(*node.op, std::move(inputs), node.attributes);
    for (size_t o = 0; o < outputs.size(); ++o) set(node.outputs[o], outputs[o]);
  }
  for (Value output : from.outputs()) copy.graph.mark_output(copy.of(output), from.info(output).name);
  return copy;
}

}  // namespace vkformer
