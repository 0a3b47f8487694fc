#pragma once
// Encoders of one block.

#include <cstdint>

#include "runtime/tensor.h"

namespace vkformer {

using EncodeBlock = void (*)(const float* values, uint8_t* block);

/// For q2_k to q6_k; nullptr for others.
EncodeBlock super_block_encoder(DType);
void encode_iq4_nl(const float* values, uint8_t* block);
void encode_iq4_xs(const float* values, uint8_t* block);

}  // namespace vkformer
