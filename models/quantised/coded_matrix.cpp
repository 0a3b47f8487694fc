#include "models/quantised/coded_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/check.h"
#include "runtime/encoding/block_bits.h"
#include "runtime/files/utf8.h"
#include "runtime/half.h"

namespace vkformer {
namespace {

constexpr int64_t block_size = 32;

/// The type of blocks that have the codes as they are, in groups of whole blocks.
DType type_of(const CodedMatrix& matrix) {
  const bool whole_blocks = matrix.groups.empty() && matrix.block_values == 0 && matrix.columns % block_size == 0 &&
                            (matrix.block_columns % block_size == 0 || matrix.block_columns >= matrix.columns);
  if (!whole_blocks) return DType::f16;
  if (!matrix.value_of.empty()) return matrix.powers_of_two && matrix.codes.bits == 4 ? DType::mxfp4 : DType::f16;
  const bool one_zero = !matrix.zeros && !matrix.biases;
  if (matrix.codes.bits == 4 && one_zero && matrix.zero == 8) return DType::q4_0;
  if (matrix.codes.bits == 8 && one_zero && matrix.zero == 128) return DType::q8_0;
  return matrix.codes.bits <= 4 ? DType::q4_1 : DType::f16;
}

/// A block as GGUF files have it: value j shares a byte with value j + 16.
void pack_block(DType type, const uint8_t* codes, float scale, float offset, uint8_t* block) {
  if (type == DType::mxfp4) {
    *block++ = static_cast<uint8_t>(std::ilogb(scale) + 127);
  } else {
    write_f16(block, scale);
    block += 2;
  }
  if (type == DType::q8_0) {
    for (int j = 0; j < block_size; ++j) block[j] = codes[j] ^ 0x80;
    return;
  }
  if (type == DType::q4_1) {
    write_f16(block, offset);
    block += 2;
  }
  for (int j = 0; j < block_size / 2; ++j) block[j] = static_cast<uint8_t>(codes[j] | codes[j + block_size / 2] << 4);
}

class CodedWeight : public WeightTensor {
 public:
  explicit CodedWeight(CodedMatrix matrix)
      : WeightTensor(matrix.name, {matrix.rows, matrix.columns}, matrix.rows * matrix.columns, matrix.type,
                     matrix.bytes),
        matrix_(std::move(matrix)),
        grid_columns_((matrix_.columns + matrix_.block_columns - 1) / matrix_.block_columns),
        dtype_(type_of(matrix_)) {}

  bool is_float() const override { return true; }
  std::optional<DType> stored(bool columns) const override { return columns ? std::nullopt : std::optional(dtype_); }

  void read_floats(int64_t first, std::span<float> out) const override {
    read_grids();
    const int64_t columns = matrix_.columns, end = first + std::ssize(out), row = first / columns;
    const std::vector<uint8_t> codes = codes_of(row, (end + columns - 1) / columns - row);
    for (int64_t at = first; at < end;) {
      const int64_t begin = at % columns, count = std::min(columns - begin, end - at);
      const uint8_t* code = codes.data() + (at / columns - row) * columns;
      float* to = out.data() + (at - first);
      for (int64_t c = begin; c < begin + count;) {
        const int64_t run = std::min(run_from(at / columns, c), begin + count - c);
        decode(group_of(at / columns, c), {code + c, static_cast<size_t>(run)}, to);
        c += run;
        to += run;
      }
      at += count;
    }
  }

  void read_stored(int64_t first, std::span<std::byte> out) const override {
    if (dtype_ == DType::f16) {
      std::vector<float> values(out.size() / sizeof(uint16_t));
      read_floats(first, values);
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t half = to_half(DType::f16, values[i]);
        std::memcpy(out.data() + i * sizeof half, &half, sizeof half);
      }
      return;
    }
    read_grids();
    const int64_t bytes = format_of(dtype_).bytes, blocks = std::ssize(out) / bytes, columns = matrix_.columns;
    const int64_t row = first / columns, end = first + blocks * block_size;
    const std::vector<uint8_t> codes = codes_of(row, (end + columns - 1) / columns - row);
    auto* block = reinterpret_cast<uint8_t*>(out.data());
    for (int64_t at = first; at < end; at += block_size, block += bytes) {
      const size_t group = group_of(at / columns, at % columns);
      const float scale = scales_[group];
      pack_block(dtype_, codes.data() + (at - row * columns), scale, bias_of(group) - zero_of(group) * scale, block);
    }
  }

  void release(int64_t first, int64_t count) const override {
    const WeightTensor& codes = *matrix_.codes.tensor;
    const bool at_end = first + count == elements();
    if (!matrix_.turned) {
      const int64_t of_row = codes.elements() / matrix_.rows, row = first / matrix_.columns;
      codes.release(row * of_row, (first + count) / matrix_.columns * of_row - row * of_row);
    } else if (at_end) {
      codes.release(0, codes.elements());
    }
    if (at_end)
      for (std::vector<float>* grid : {&scales_, &zeros_, &biases_}) *grid = {};
  }

 private:
  std::vector<uint8_t> codes_of(int64_t first_row, int64_t count) const {
    const int64_t columns = matrix_.columns;
    std::vector<uint8_t> codes(static_cast<size_t>(count * columns));
    if (!matrix_.turned) {
      matrix_.codes.read(first_row, count, 0, columns, codes);
      return codes;
    }
    std::vector<uint8_t> turned(codes.size());
    matrix_.codes.read(0, columns, first_row, count, turned);
    constexpr int64_t lines = 64;  // whose bytes stay in a cache
    for (int64_t first = 0; first < columns; first += lines)
      for (int64_t r = 0; r < count; ++r)
        for (int64_t c = first; c < std::min(first + lines, columns); ++c)
          codes[static_cast<size_t>(r * columns + c)] = turned[static_cast<size_t>(c * count + r)];
    return codes;
  }

  void read_grids() const {
    if (!scales_.empty()) return;
    const int64_t count = matrix_.block_values > 0
                              ? (elements() + matrix_.block_values - 1) / matrix_.block_values
                              : (matrix_.rows + matrix_.block_rows - 1) / matrix_.block_rows * grid_columns_;
    const auto read = [&](const CodedMatrix::Grid& grid, std::vector<float>& values) {
      if (grid) values = grid();
      check(!grid || std::ssize(values) == count, "tensor {} has {} scales, zeros or biases, it must have {}",
            in_quotes(name(), 120), values.size(), count);
      check(std::ranges::all_of(values, [](float v) { return std::isfinite(v); }),
            "tensor {} has scales that are no finite numbers; download it again", in_quotes(name(), 120));
    };
    read(matrix_.zeros, zeros_);
    read(matrix_.biases, biases_);
    read(matrix_.scales, scales_);
  }

  size_t group_of(int64_t row, int64_t column) const {
    if (matrix_.block_values > 0) return static_cast<size_t>((row * matrix_.columns + column) / matrix_.block_values);
    const int64_t c =
        matrix_.groups.empty() ? column / matrix_.block_columns : matrix_.groups[static_cast<size_t>(column)];
    return static_cast<size_t>(row / matrix_.block_rows * grid_columns_ + c);
  }
  /// Values of that row that share a scale from that column on; the row may end before.
  int64_t run_from(int64_t row, int64_t column) const {
    if (!matrix_.groups.empty()) return 1;
    if (matrix_.block_values > 0) return matrix_.block_values - (row * matrix_.columns + column) % matrix_.block_values;
    return matrix_.block_columns - column % matrix_.block_columns;
  }
  float zero_of(size_t group) const { return zeros_.empty() ? matrix_.zero : zeros_[group]; }
  float bias_of(size_t group) const { return biases_.empty() ? 0 : biases_[group]; }
  void decode(size_t group, std::span<const uint8_t> codes, float* out) const {
    const float scale = scales_[group], zero = zero_of(group), bias = bias_of(group);
    for (const uint8_t code : codes)
      *out++ =
          matrix_.value_of.empty() ? (static_cast<float>(code) - zero) * scale + bias : matrix_.value_of[code] * scale;
  }

  CodedMatrix matrix_;
  int64_t grid_columns_;
  DType dtype_;
  mutable std::vector<float> scales_, zeros_, biases_;  // while the weight is read
};

}  // namespace

std::unique_ptr<WeightTensor> coded_weight(CodedMatrix matrix) {
  return std::make_unique<CodedWeight>(std::move(matrix));
}

}  // namespace vkformer
