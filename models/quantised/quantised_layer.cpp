#include "models/quantised/quantised_layer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runtime/check.h"
#include "runtime/encoding/block_bits.h"
#include "runtime/files/utf8.h"

namespace vkformer {

const WeightTensor* QuantisedLayer::find(std::string_view end) const {
  const WeightTensor* tensor = files_.find(name_ + std::string(end));
  if (tensor) bytes_ += tensor->bytes();
  return tensor;
}

const WeightTensor& QuantisedLayer::require(std::string_view end) const {
  const WeightTensor* tensor = find(end);
  check(tensor != nullptr, "{}: there is a tensor {} without its {}{}", files_.name(), in_quotes(codes_.name(), 120),
        name_, end);
  return *tensor;
}

void QuantisedLayer::check_type(const WeightTensor& tensor, std::initializer_list<std::string_view> types) const {
  check(std::ranges::find(types, tensor.type()) != types.end(), "{}: tensor {} is {}, it must be {}", files_.name(),
        in_quotes(tensor.name(), 120), tensor.type(), fmt::join(types, " or "));
}

void QuantisedLayer::check_shape(const WeightTensor& tensor, bool right) const {
  check(right, "{}: tensor {} has shape [{}], which does not fit the shape [{}] of {}", files_.name(),
        in_quotes(tensor.name(), 120), fmt::join(tensor.shape(), ", "), fmt::join(codes_.shape(), ", "),
        in_quotes(codes_.name(), 120));
}

void QuantisedLayer::check_value(const WeightTensor& tensor, bool known) const {
  check(known, "{}: tensor {} has a value that is not supported", files_.name(), in_quotes(tensor.name(), 120));
}

void QuantisedLayer::check_matrix(const WeightTensor& tensor) const {
  check_shape(tensor, tensor.shape().size() == 2 && tensor.elements() > 0);
}

void QuantisedLayer::check_codes(const PackedCodes& codes) const {
  check_shape(*codes.tensor, codes.bytes() == static_cast<int64_t>(codes.tensor->bytes()));
}

CodedMatrix QuantisedLayer::matrix(std::string_view type, int64_t rows, int64_t columns) const {
  return {.name = name_ + ".weight", .type = type, .rows = rows, .columns = columns};
}

void QuantisedLayer::set_blocks(const WeightTensor& scales, const Quantisation& how, CodedMatrix& matrix) const {
  const auto shape = scales.shape();
  const int64_t rows = shape.empty() ? 1 : shape[0], columns = shape.size() < 2 ? 1 : shape[1];
  matrix.block_rows = block_of(matrix.rows, rows, how.block_rows);
  matrix.block_columns = block_of(matrix.columns, columns, how.block_columns);
  check_shape(scales, shape.size() <= 2 && matrix.block_rows > 0 && matrix.block_columns > 0);
}

void QuantisedLayer::set_groups(const WeightTensor* tensor, int64_t count, CodedMatrix& matrix) const {
  if (!tensor) return;
  check_type(*tensor, {"I32"});
  check_shape(*tensor, tensor->elements() == matrix.columns);
  std::vector<int32_t> groups(static_cast<size_t>(matrix.columns));
  tensor->read_stored(0, std::as_writable_bytes(std::span(groups)));
  if (std::ranges::all_of(groups, [](int32_t group) { return group == -1; })) return;
  bool in_order = true;
  for (int64_t c = 0; c < matrix.columns; ++c) {
    const int32_t group = groups[static_cast<size_t>(c)];
    check(group >= 0 && group < count, "{}: tensor {} names group {}, there are {}", files_.name(),
          in_quotes(tensor->name(), 120), group, count);
    in_order = in_order && group == c / matrix.block_columns;
  }
  if (!in_order) matrix.groups = std::move(groups);
}

std::string_view int_type(int bits) {
  constexpr std::string_view names[] = {"INT1", "INT2", "INT3", "INT4", "INT5", "INT6", "INT7", "INT8"};
  return names[bits - 1];
}

std::vector<float> e4m3_values() {
  std::vector<float> values(256);
  for (int code = 0; code < 256; ++code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    if ((code & 127) == 127) value = std::nanf("");
    values[static_cast<size_t>(code)] = code & 128 ? -value : value;
  }
  return values;
}

std::vector<float> e2m1_values() {
  std::vector<float> values;
  for (const int8_t twice : small_floats) values.push_back(static_cast<float>(twice) / 2);
  return values;
}

std::vector<std::byte> bytes_of(const WeightTensor& tensor) {
  std::vector<std::byte> bytes(tensor.bytes());
  tensor.read_stored(0, bytes);
  return bytes;
}

std::vector<float> floats_of(const WeightTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  if (tensor.is_float()) {
    tensor.read_floats(0, values);
    return values;
  }
  const std::vector<float> fp8 = e4m3_values();
  std::ranges::transform(bytes_of(tensor), values.begin(), [&](std::byte byte) {
    const auto code = std::to_integer<uint8_t>(byte);
    return tensor.type() != "F8_E4M3" ? std::ldexp(1.0f, code - 127) : fp8[code];
  });
  return values;
}

int64_t block_of(int64_t size, int64_t count, int64_t wanted) {
  if (count == 1) return size;
  if (wanted > 0 && (size + wanted - 1) / wanted == count) return wanted;
  return count > 0 && size % count == 0 ? size / count : 0;
}

}  // namespace vkformer
