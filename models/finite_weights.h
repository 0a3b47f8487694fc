#pragma once
// Weights that are numbers.

#include <span>
#include <string_view>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/tensor.h"

namespace vkformer {

/// Throws Error, naming the tensor, the first value and where it stands, where one is no finite number or would be none
/// in `type`: f16 ends at 65504. Who reads such a file finds out late.
void check_finite(std::string_view tensor, std::span<const float> values, DType type);

/// Calls encode(), and names the tensor in what that throws.
template <class Encode>
void naming_tensor(std::string_view tensor, Encode&& encode) {
  try {
    encode();
  } catch (const Error& error) {
    fail("tensor {}: {}", in_quotes(tensor, 120), error.what());
  }
}

}  // namespace vkformer
