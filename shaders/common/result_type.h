#pragma once
// The type of what an op writes where its caller may choose: the attribute `result`, a DType; absent: f32.

#include "runtime/op.h"

namespace vkformer {

/// Throws Error when it is no float.
inline DType result_type(const Node& node) {
  for (const auto& [name, value] : node.attributes.entries()) {
    if (name != "result") continue;
    const auto type = static_cast<DType>(value);
    check(type == DType::f32 || is_half(type), "[{}] result {} is no float type", node.op->name, value);
    return type;
  }
  return DType::f32;
}

inline void set_result_type(Attributes& attributes, DType type) {
  if (type != DType::f32) attributes.set("result", static_cast<double>(type));
}

}  // namespace vkformer
