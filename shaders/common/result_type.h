#pragma once
// The type of what an op writes where its caller may choose: the attribute `result`, a DType; absent: f32. And what
// becomes of values that an f16 can't hold: the attribute `most`; absent: they become infinite, which a training must
// notice.

#include <algorithm>
#include <cmath>
#include <limits>

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

constexpr float most_f16 = 65504;
/// What is finite in f32 and beyond it is not in that type. A bf16 has an f32's range.
constexpr float most_of(DType type) { return type == DType::f16 ? most_f16 : std::numeric_limits<float>::infinity(); }

/// Finite values of the result beyond it become it.
inline float most_of_result(const Node& node) {
  for (const auto& [name, value] : node.attributes.entries())
    if (name == "most") return static_cast<float>(value);
  return std::numeric_limits<float>::infinity();
}

/// Of an op whose result is of that type.
inline void set_saturated(Attributes& attributes, DType type) {
  if (type == DType::f16) attributes.set("most", most_f16);
}
inline void set_saturated_result(Attributes& attributes, DType type) {
  set_result_type(attributes, type);
  set_saturated(attributes, type);
}

/// What the kernels' function of that name gives, for references.
inline double saturated(double x, double most) { return std::isinf(x) ? x : std::clamp(x, -most, most); }

}  // namespace vkformer
