#include "runtime/op.h"

#include <algorithm>

namespace vkformer {

namespace registry {
OpList all();  // generated, see cmake/shaders.cmake
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

}  // namespace vkformer
