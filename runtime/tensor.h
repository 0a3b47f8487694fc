#pragma once
// Shapes and element types, the vocabulary of every level.
//
// Dimension letters used in all shape comments: B batch, T positions (S for keys), C model width, H heads, D head
// width, F feed-forward width, V vocabulary, M N K for matrix products.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// f16 is IEEE's binary16, bf16 the upper half of an f32. Only ops that say so take them (Op::half_inputs). From q8_0
/// on, rows are blocks of a few values with scales of their own, as in GGUF files (runtime/encoding/encoding.h).
enum class DType : uint8_t {
  f32,
  i32,
  f16,
  bf16,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  mxfp4
};
constexpr size_t dtype_count = 17;

/// How values lie in memory: blocks of `values` values in `bytes` bytes. A row holds whole blocks.
struct BlockFormat {
  std::string_view name;
  int64_t values = 1;
  int64_t bytes = 4;
};
/// By type; files have the same blocks.
constexpr std::array<BlockFormat, dtype_count> block_formats = {{{"f32", 1, 4},
                                                                 {"i32", 1, 4},
                                                                 {"f16", 1, 2},
                                                                 {"bf16", 1, 2},
                                                                 {"q8_0", 32, 34},
                                                                 {"q4_0", 32, 18},
                                                                 {"q4_1", 32, 20},
                                                                 {"q5_0", 32, 22},
                                                                 {"q5_1", 32, 24},
                                                                 {"q2_k", 256, 84},
                                                                 {"q3_k", 256, 110},
                                                                 {"q4_k", 256, 144},
                                                                 {"q5_k", 256, 176},
                                                                 {"q6_k", 256, 210},
                                                                 {"iq4_nl", 32, 18},
                                                                 {"iq4_xs", 256, 136},
                                                                 {"mxfp4", 32, 17}}};
constexpr const BlockFormat& format_of(DType dtype) { return block_formats[static_cast<size_t>(dtype)]; }

constexpr bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
/// Whether a row of that type is blocks of several values.
constexpr bool is_blocks(DType dtype) { return format_of(dtype).values > 1; }
/// Bytes of one element; of a type of blocks, which has no such thing, those of a block.
constexpr int64_t size_of(DType dtype) { return format_of(dtype).bytes; }
/// Bytes of a row on a device: blocks are laid out anew there, whole vectors of 16 bytes (runtime/encoding/planes.h).
constexpr int64_t row_bytes(DType dtype, int64_t columns) {
  const BlockFormat& format = format_of(dtype);
  const int64_t bytes = columns / format.values * format.bytes;
  return is_blocks(dtype) ? (bytes + 15) / 16 * 16 : bytes;
}
std::string_view name_of(DType);
/// The float type of that name. Throws Error for other names.
DType float_type(std::string_view name);
/// The type of that name in which weights may be stored: float types and blocks. Throws Error for other names.
DType weight_type(std::string_view name);

/// Up to six dimensions, row-major, the last one contiguous.
class Shape {
 public:
  static constexpr int max_rank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dimensions) : Shape(std::span(dimensions.begin(), dimensions.size())) {}
  /// Throws Error on more than six dimensions, a negative one, or 2^60 elements or more.
  explicit Shape(std::span<const int64_t> dimensions);

  int rank() const { return rank_; }
  /// Dimension `axis`; negative counts from the end.
  int64_t operator[](int axis) const { return dimensions_[static_cast<size_t>(axis < 0 ? axis + rank_ : axis)]; }
  int64_t elements() const;
  /// The last dimension (1 for a scalar).
  int64_t columns() const { return rank_ == 0 ? 1 : (*this)[-1]; }
  /// Everything but the last dimension, multiplied: a tensor seen as a matrix [rows, columns].
  int64_t rows() const;
  /// This shape with another last dimension.
  Shape with_columns(int64_t columns) const;
  std::span<const int64_t> dimensions() const { return {dimensions_.data(), static_cast<size_t>(rank_)}; }
  /// "[2, 3]"
  std::string to_string() const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, max_rank> dimensions_{};
  int rank_ = 0;
};

struct TensorType {
  Shape shape;
  DType dtype = DType::f32;

  int64_t elements() const { return shape.elements(); }
  /// Of its storage on a device: whole 32-bit words, which kernels read halves by, and whole rows of blocks.
  int64_t bytes() const {
    if (is_blocks(dtype)) return shape.rows() * row_bytes(dtype, shape.columns());
    return (shape.elements() * size_of(dtype) + 3) / 4 * 4;
  }
  /// Where element `i` begins in its storage; of blocks the first of a row.
  int64_t offset_of(int64_t i) const {
    return is_blocks(dtype) ? i / shape.columns() * row_bytes(dtype, shape.columns()) : i * size_of(dtype);
  }
  bool operator==(const TensorType&) const = default;
};

/// A tensor of the CPU reference. Every element is a double; integers up to 2^53 are exact.
struct HostTensor {
  TensorType type;
  std::vector<double> data;
  std::vector<std::byte> blocks = {};  ///< what `data` was decoded from, as in a file, where a test must know it

  HostTensor() = default;
  explicit HostTensor(TensorType tensor_type) : type(tensor_type), data(static_cast<size_t>(type.elements())) {}
  double& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }
};

}  // namespace vkformer
