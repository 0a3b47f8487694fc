#pragma once
// Weights in few bits: blocks of values that share scales, laid out bit by bit as in GGUF files.
// Format: https://github.com/ggml-org/ggml, ggml-common.h.

#include <array>
#include <cstddef>
#include <span>

#include "runtime/tensor.h"

namespace vkformer {

/// All types of blocks.
constexpr std::array<DType, 13> block_types = {DType::q8_0,   DType::q4_0,   DType::q4_1, DType::q5_0, DType::q5_1,
                                               DType::q2_k,   DType::q3_k,   DType::q4_k, DType::q5_k, DType::q6_k,
                                               DType::iq4_nl, DType::iq4_xs, DType::mxfp4};

/// Bytes of `values` values in a file. Throws Error when they are no whole blocks.
int64_t encoded_bytes(DType, int64_t values);

/// The values of whole blocks of any type but i32, bit for bit as ggml's dequantize_row_* gives them. Throws Error when
/// `blocks` and `values` are not of one size.
void decode(DType, std::span<const std::byte> blocks, std::span<float> values);

/// Rounds values to whole blocks as ggml_quantize_chunk does without weights of importance, bit for bit. Throws Error
/// when the sizes do not fit, for i32, and for values that are not finite or too large for blocks with scales in f16.
void encode(DType, std::span<const float> values, std::span<std::byte> blocks);

}  // namespace vkformer
