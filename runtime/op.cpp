#include "runtime/op.h"

#include <algorithm>

namespace vkformer {

namespace registry {
OpList all();  // generated, see cmake/shaders.cmake
}

const Node* source_of(const Graph& graph, Value value) {
  const int producer = graph.info(value).producer;
  if (producer < 0) return nullptr;
  const Node& node = graph.nodes()[static_cast<size_t>(producer)];
  return node.op->renames_storage() ? source_of(graph, node.inputs[0]) : &node;
}

const Node* source_of(const Graph& graph, Value value, bool (*is)(const Node&)) {
  const Node* node = source_of(graph, value);
  return node && is(*node) ? node : nullptr;
}

const std::vector<const Op*>& all_ops() {
  static const std::vector<const Op*> ops = [] {
    OpList list = registry::all();
    std::sort(list.begin(), list.end(), [](const Op* a, const Op* b) { return a->name < b->name; });
    return list;
  }();
  return ops;
}

const Op* find_op(std::string_view name) {
  for (const Op* op : all_ops())
    if (op->name == name) return op;
  return nullptr;
}

Types infer_types(const Node& node) {
  for (size_t i = 0; i < node.input_types.size(); ++i) {
    const DType dtype = node.input_types[i].dtype;
    check(!is_half(dtype) || (node.op->half_inputs >> i & 1) != 0, "[{}] input {} can't be {}; cast it to f32",
          node.op->name, i, name_of(dtype));
    check(!is_blocks(dtype) || (node.op->block_inputs >> i & 1) != 0, "[{}] input {} can't be blocks of {}",
          node.op->name, i, name_of(dtype));
    check(node.in(i).columns() % format_of(dtype).values == 0, "[{}] input {} is {}: no rows of whole blocks of {}",
          node.op->name, i, node.in(i).to_string(), name_of(dtype));
  }
  return node.op->infer(node);
}

bool takes(const Node& node, size_t input, DType dtype) {
  Node changed = node;
  changed.input_types[input].dtype = dtype;
  try {
    return infer_types(changed) == node.output_types;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace vkformer
