#pragma once
// How a device keeps rows of blocks, so that kernels read them in whole vectors and words, whatever a block's size: a
// row is planes, each with one part of all of the row's blocks, the widest parts first. Of Q8_0, first the quants of
// all blocks, 32 bytes each, then all scales, 2 bytes each. Rows start at multiples of 16 bytes (row_bytes() in
// runtime/tensor.h). Blocks of Q4_K and Q5_K are whole vectors, which hold all that is needed for 256 values: they stay
// as they are. shaders/common/blocks.glsl reads these rows.

#include <cstddef>
#include <span>

#include "runtime/tensor.h"

namespace vkformer {

/// Lays whole rows of `columns` values out for a device: `blocks` as they lie in a file, `rows` of row_bytes() each.
/// The bytes behind a row's planes become zeros. Throws Error when the sizes do not fit.
void to_planes(DType, int64_t columns, std::span<const std::byte> blocks, std::span<std::byte> rows);
/// The way back.
void from_planes(DType, int64_t columns, std::span<const std::byte> rows, std::span<std::byte> blocks);

/// Rows of values, encoded and laid out for a device; and decoded again.
std::vector<std::byte> encode_rows(DType, int64_t columns, std::span<const float> values);
void decode_rows(DType, int64_t columns, std::span<const std::byte> rows, std::span<float> values);

}  // namespace vkformer
