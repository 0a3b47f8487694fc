#include "runtime/tensor.h"

#include <fmt/ranges.h>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

std::string_view name_of(DType dtype) { return format_of(dtype).name; }

DType float_type(std::string_view name) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16})
    if (name_of(dtype) == name) return dtype;
  fail("'{}' is no type of floats; there are f32, f16 and bf16", printable(name, 60));
}

DType weight_type(std::string_view name) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::i32) continue;
    if (name_of(dtype) == name) return dtype;
    names.push_back(name_of(dtype));
  }
  fail("'{}' is no type of weights; there are {}", printable(name, 60), fmt::join(names, ", "));
}

Shape::Shape(std::span<const int64_t> dimensions) {
  check(dimensions.size() <= static_cast<size_t>(max_rank), "a tensor has {} dimensions; at most {} are supported",
        dimensions.size(), max_rank);
  int64_t elements = 1;
  for (int64_t dimension : dimensions) {
    check(dimension >= 0, "a tensor dimension is {}; it must not be negative", dimension);
    check(!__builtin_mul_overflow(elements, dimension, &elements) && elements < (int64_t{1} << 60),
          "a tensor of shape [{}] has 2^60 elements or more", fmt::join(dimensions, ", "));
    dimensions_[static_cast<size_t>(rank_++)] = dimension;
  }
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int64_t dimension : dimensions()) product *= dimension;
  return product;
}

int64_t Shape::rows() const {
  int64_t product = 1;
  for (int i = 0; i + 1 < rank_; ++i) product *= (*this)[i];
  return product;
}

Shape Shape::with_columns(int64_t columns) const {
  check(rank_ > 0, "a scalar has no columns to replace");
  Shape result = *this;
  result.dimensions_[static_cast<size_t>(rank_ - 1)] = columns;
  return result;
}

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(dimensions(), ", ")); }

}  // namespace vkformer
