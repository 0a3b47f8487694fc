#pragma once
// 16-bit floats as they lie in memory.

#include "runtime/tensor.h"

namespace vkformer {

/// The bits of the nearest f16 or bf16 (`dtype`), ties to even; beyond the largest one infinity. NaN stays NaN.
uint16_t to_half(DType dtype, float value);
/// Exact.
float from_half(DType dtype, uint16_t bits);
/// The f32 nearest to `value`, or of a 16-bit type what to_half() makes of it. Integers stay as they are.
double round_to(DType dtype, double value);

}  // namespace vkformer
