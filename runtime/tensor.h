#pragma once
// Shapes and element types, the vocabulary of every level.
//
// Dimension letters used in all shape comments: B batch, T positions (S for keys), C model width, H heads, D head
// width, F feed-forward width, V vocabulary, M N K for matrix products.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// f16 is IEEE's binary16, bf16 the upper half of an f32. Only ops that say so take them (Op::half_inputs).
enum class DType : uint8_t { f32, i32, f16, bf16 };

constexpr bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
/// Bytes of one element.
constexpr int64_t size_of(DType dtype) { return is_half(dtype) ? 2 : 4; }
std::string_view name_of(DType);
/// The float type of that name. Throws Error for other names.
DType float_type(std::string_view name);

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
  /// Of its storage: whole 32-bit words, which kernels read halves by.
  int64_t bytes() const { return (shape.elements() * size_of(dtype) + 3) / 4 * 4; }
  bool operator==(const TensorType&) const = default;
};

/// A tensor of the CPU reference. Every element is a double; integers up to 2^53 are exact.
struct HostTensor {
  TensorType type;
  std::vector<double> data;

  HostTensor() = default;
  explicit HostTensor(TensorType tensor_type) : type(tensor_type), data(static_cast<size_t>(type.elements())) {}
  double& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }
};

}  // namespace vkformer
