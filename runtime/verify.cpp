#include "runtime/verify.h"

#include "runtime/op.h"

namespace vkformer {

void verify(const Graph& graph) {
  std::vector<char> overwritten(graph.value_count());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for (Value input : node.inputs) {
      if (!input) continue;
      check(graph.info(input).producer < static_cast<int>(i), "[{}] {} reads a value that is not computed yet",
            node.op->name, node.scope);
      check(!overwritten[static_cast<size_t>(input.id)], "[{}] {} reads '{}' after it was changed in place",
            node.op->name, node.scope, graph.info(input).name);
    }
    check(infer_types(node) == node.output_types, "[{}] {} has outputs of other types than its rule gives",
          node.op->name, node.scope);
    for (size_t o = 0; o < node.op->aliases.size(); ++o) {
      const int source = node.op->aliases[o];
      if (source >= 0 && !node.op->renames_storage())
        overwritten[static_cast<size_t>(node.inputs[static_cast<size_t>(source)].id)] = 1;
    }
  }
}

}  // namespace vkformer
