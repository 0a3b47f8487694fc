#pragma once
// Names of kernels' variants for encoded blocks.

#include "runtime/tensor.h"

namespace vkformer {

/// "f32_q8_0" and the like: of blocks beside f32.
std::string_view variant_of_blocks(DType);

}  // namespace vkformer
