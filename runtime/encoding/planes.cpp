#include "runtime/encoding/planes.h"

#include <algorithm>
#include <cstring>

#include "runtime/check.h"
#include "runtime/encoding/encoding.h"

namespace vkformer {

namespace {

/// Bytes of a block that lie together in a plane.
struct Part {
  int64_t offset, bytes;
};

/// The widest first: so each plane starts at a multiple of what is read from it.
std::span<const Part> parts_of(DType dtype) {
  switch (dtype) {
    case DType::q8_0: {
      static constexpr Part parts[] = {{2, 32}, {0, 2}};
      return parts;
    }
    case DType::q4_0:
    case DType::iq4_nl: {
      static constexpr Part parts[] = {{2, 16}, {0, 2}};
      return parts;
    }
    case DType::q4_1: {
      static constexpr Part parts[] = {{4, 16}, {0, 4}};
      return parts;
    }
    case DType::q5_0: {
      static constexpr Part parts[] = {{6, 16}, {2, 4}, {0, 2}};
      return parts;
    }
    case DType::q5_1: {
      static constexpr Part parts[] = {{8, 16}, {4, 4}, {0, 4}};
      return parts;
    }
    case DType::q2_k: {
      static constexpr Part parts[] = {{16, 64}, {0, 16}, {80, 4}};
      return parts;
    }
    case DType::q3_k: {
      static constexpr Part parts[] = {{32, 64}, {0, 32}, {96, 12}, {108, 2}};
      return parts;
    }
    case DType::q4_k: {
      static constexpr Part parts[] = {{0, 144}};
      return parts;
    }
    case DType::q5_k: {
      static constexpr Part parts[] = {{0, 176}};
      return parts;
    }
    case DType::q6_k: {
      static constexpr Part parts[] = {{0, 128}, {128, 64}, {192, 16}, {208, 2}};
      return parts;
    }
    case DType::iq4_xs: {
      static constexpr Part parts[] = {{8, 128}, {0, 8}};
      return parts;
    }
    case DType::mxfp4: {
      static constexpr Part parts[] = {{1, 16}, {0, 1}};
      return parts;
    }
    default: fail("{} has no blocks", name_of(dtype));
  }
}

int64_t rows_of(DType dtype, int64_t columns, size_t blocks, size_t rows) {
  const int64_t packed = encoded_bytes(dtype, columns), laid_out = row_bytes(dtype, columns);
  const int64_t count = packed > 0 ? static_cast<int64_t>(blocks) / packed : 0;
  check(count * packed == static_cast<int64_t>(blocks) && count * laid_out == static_cast<int64_t>(rows),
        "{} bytes of {} and {} bytes on a device are not the same rows of {} values", blocks, name_of(dtype), rows,
        columns);
  return count;
}

/// Calls move(offset in a row of blocks, offset in a row of planes, bytes) for each part of a row's blocks.
template <class Move>
void for_parts(DType dtype, int64_t columns, Move&& move) {
  const BlockFormat& format = format_of(dtype);
  const int64_t blocks = columns / format.values;
  int64_t plane = 0;
  for (const Part& part : parts_of(dtype)) {
    for (int64_t block = 0; block < blocks; ++block)
      move(block * format.bytes + part.offset, plane + block * part.bytes, part.bytes);
    plane += blocks * part.bytes;
  }
}

}  // namespace

void to_planes(DType dtype, int64_t columns, std::span<const std::byte> blocks, std::span<std::byte> rows) {
  const int64_t count = rows_of(dtype, columns, blocks.size(), rows.size());
  std::ranges::fill(rows, std::byte{0});
  for (int64_t row = 0; row < count; ++row) {
    const std::byte* from = blocks.data() + row * encoded_bytes(dtype, columns);
    std::byte* to = rows.data() + row * row_bytes(dtype, columns);
    for_parts(dtype, columns, [&](int64_t in_blocks, int64_t in_planes, int64_t bytes) {
      std::memcpy(to + in_planes, from + in_blocks, static_cast<size_t>(bytes));
    });
  }
}

void from_planes(DType dtype, int64_t columns, std::span<const std::byte> rows, std::span<std::byte> blocks) {
  const int64_t count = rows_of(dtype, columns, blocks.size(), rows.size());
  for (int64_t row = 0; row < count; ++row) {
    const std::byte* from = rows.data() + row * row_bytes(dtype, columns);
    std::byte* to = blocks.data() + row * encoded_bytes(dtype, columns);
    for_parts(dtype, columns, [&](int64_t in_blocks, int64_t in_planes, int64_t bytes) {
      std::memcpy(to + in_blocks, from + in_planes, static_cast<size_t>(bytes));
    });
  }
}

std::vector<std::byte> encode_rows(DType dtype, int64_t columns, std::span<const float> values) {
  std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(dtype, static_cast<int64_t>(values.size()))));
  encode(dtype, values, blocks);
  std::vector<std::byte> rows(values.size() / static_cast<size_t>(columns) *
                              static_cast<size_t>(row_bytes(dtype, columns)));
  to_planes(dtype, columns, blocks, rows);
  return rows;
}

void decode_rows(DType dtype, int64_t columns, std::span<const std::byte> rows, std::span<float> values) {
  std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(dtype, static_cast<int64_t>(values.size()))));
  from_planes(dtype, columns, rows, blocks);
  decode(dtype, blocks, values);
}

}  // namespace vkformer
