#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/quantised/forms.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

/// Two FP4 codes a byte, the lower four bits first: MXFP4 with exponents as scales; NVFP4 with FP8 scales and one more
/// for all, which compressed-tensors divides by and modelopt multiplies with.
CodedMatrix fp4_layer(const QuantisedLayer& layer, const Quantisation& how) {
  const WeightTensor &codes = layer.codes(), &scales = layer.require(".weight_scale");
  layer.check_matrix(codes);
  layer.check_type(scales, {"U8", "F8_E8M0", "F8_E4M3"});
  const bool powers = scales.type() != "F8_E4M3";
  CodedMatrix matrix = layer.matrix(powers ? "MXFP4" : "NVFP4", codes.shape()[0], codes.shape()[1] * 2);
  matrix.codes = PackedCodes::stream(codes, matrix.rows, matrix.columns, 4);
  matrix.value_of = e2m1_values();
  matrix.powers_of_two = powers;
  layer.set_blocks(scales, how, matrix);
  float factor = 1;
  if (!powers) {
    const WeightTensor* divisor = layer.find(".weight_global_scale");
    const WeightTensor& whole = divisor ? *divisor : layer.require(".weight_scale_2");
    layer.check_type(whole, {"F32"});
    layer.check_shape(whole, whole.elements() == 1);
    factor = floats_of(whole).front();
    if (divisor) factor = 1 / factor;
  }
  matrix.scales = [&scales, factor] {
    std::vector<float> values = floats_of(scales);
    for (float& value : values) value *= factor;
    return values;
  };
  return matrix;
}

/// A byte a value: FP8, or whole numbers with a sign.
CodedMatrix byte_layer(const QuantisedLayer& layer, const WeightTensor& scales, const Quantisation& how) {
  const WeightTensor& codes = layer.codes();
  layer.check_matrix(codes);
  layer.check_type(scales, {"F16", "BF16", "F32", "U8", "F8_E8M0"});
  const bool integers = codes.type() == "I8";
  CodedMatrix matrix = layer.matrix(integers ? "INT8" : "FP8", codes.shape()[0], codes.shape()[1]);
  matrix.codes = PackedCodes::stream(codes, matrix.rows, matrix.columns, 8);
  layer.set_blocks(scales, how, matrix);
  matrix.scales = [&scales] { return floats_of(scales); };
  if (!integers) {
    matrix.value_of = e4m3_values();
    return matrix;
  }
  matrix.codes.flipped = 0x80;
  matrix.zero = 128;
  if (const WeightTensor* zeros = layer.find(".weight_zero_point")) {
    layer.check_type(*zeros, {"I8"});
    layer.check_shape(*zeros, zeros->elements() == scales.elements());
    PackedCodes packed = PackedCodes::stream(*zeros, 1, zeros->elements(), 8);
    packed.flipped = 0x80;
    matrix.zeros = [packed] {
      const std::vector<uint8_t> stored = packed.all();
      return std::vector<float>(stored.begin(), stored.end());
    };
  }
  return matrix;
}

/// bitsandbytes of 8 bits: rows by their largest values, which are 127.
CodedMatrix bitsandbytes_byte_layer(const QuantisedLayer& layer, const WeightTensor& largest) {
  if (const WeightTensor* order = layer.find(".weight_format"))
    layer.check_value(*order, std::ranges::all_of(bytes_of(*order), [](std::byte b) { return b == std::byte{0}; }));
  CodedMatrix matrix = byte_layer(layer, largest, {});
  matrix.scales = [&largest] {
    std::vector<float> values = floats_of(largest);
    for (float& value : values) value /= 127;
    return values;
  };
  return matrix;
}

/// bitsandbytes of 4 bits (NF4, FP4): two codes a byte, the upper four bits first, whose values are in the file; a
/// scale for some values one behind the other, which may themselves be codes with scales. functional.py's QuantState.
CodedMatrix bitsandbytes_layer(const QuantisedLayer& layer, const WeightTensor& state, std::string_view type) {
  const JsonObject how = [&] {
    const std::vector<std::byte> text = bytes_of(state);
    return JsonObject::parse({reinterpret_cast<const char*>(text.data()), text.size()},
                             layer.files().name() + ", " + printable(state.name()));
  }();
  const WeightTensor &codes = layer.codes(), &scales = layer.require(".weight.absmax"),
                     &map = layer.require(".weight.quant_map");
  constexpr int64_t most = int64_t{1} << 31;
  const nlohmann::json& value = how.value();
  const bool has_shape =
      value.contains("shape") && value["shape"].is_array() && value["shape"].size() == 2 &&
      std::ranges::all_of(value["shape"], [](const auto& n) { return n.is_number_unsigned() && n > 0 && n < most; });
  check(has_shape, "{}: shape must be two sizes", how.name());
  const int64_t rows = value["shape"][0].template get<int64_t>(), columns = value["shape"][1].template get<int64_t>();
  const int64_t block = require_integer(how, "blocksize", 1, most);
  CodedMatrix matrix = layer.matrix(type, rows, columns);
  matrix.codes = PackedCodes::stream(codes, rows, columns, 4);
  matrix.codes.places = {1, 0};
  layer.check_codes(matrix.codes);
  layer.check_type(map, {"F32"});
  layer.check_shape(map, map.elements() == 16);
  matrix.value_of = floats_of(map);
  matrix.block_values = block;
  layer.check_shape(scales, scales.elements() == (rows * columns + block - 1) / block);
  const WeightTensor* nested = layer.find(".weight.nested_absmax");
  if (!nested) {
    layer.check_type(scales, {"F32"});
    matrix.scales = [&scales] { return floats_of(scales); };
    return matrix;
  }
  const WeightTensor& nested_map = layer.require(".weight.nested_quant_map");
  const int64_t nested_block = require_integer(how, "nested_blocksize", 1, most);
  layer.check_type(scales, {"U8"});
  for (const WeightTensor* tensor : {nested, &nested_map}) layer.check_type(*tensor, {"F32"});
  layer.check_shape(nested_map, nested_map.elements() == 256);
  layer.check_shape(*nested, nested->elements() == (scales.elements() + nested_block - 1) / nested_block);
  const auto offset = static_cast<float>(require_number(how, "nested_offset", -1e30, 1e30));
  matrix.scales = [=, &scales, &nested_map] {
    const std::vector<float> value_of = floats_of(nested_map), of_blocks = floats_of(*nested);
    std::vector<float> values;
    for (const std::byte code : bytes_of(scales))
      values.push_back(value_of[std::to_integer<size_t>(code)] *
                           of_blocks[values.size() / static_cast<size_t>(nested_block)] +
                       offset);
    return values;
  };
  return matrix;
}

/// MLX, "affine": codes [out, in] without a gap, value = code * scale + bias.
CodedMatrix mlx_layer(const QuantisedLayer& layer, const Quantisation& how) {
  const WeightTensor &codes = layer.codes(), &scales = layer.require(".scales"), *other = layer.find(".qbiases"),
                     &biases = other ? *other : layer.require(".biases");
  for (const WeightTensor* tensor : {&codes, &scales, &biases}) layer.check_matrix(*tensor);
  for (const WeightTensor* tensor : {&scales, &biases}) {
    layer.check_type(*tensor, {"F16", "BF16", "F32"});
    layer.check_shape(*tensor, tensor->shape()[0] == codes.shape()[0] && tensor->shape()[1] == scales.shape()[1]);
  }
  const auto own = how.layer_columns.find(layer.name());
  const int64_t group = own == how.layer_columns.end() ? how.block_columns : own->second;
  const int64_t in = scales.shape()[1] * group, bits = codes.shape()[1] * 32 / in;
  layer.check_shape(scales, bits >= 2 && bits <= 8 && bits * in == codes.shape()[1] * 32);
  CodedMatrix matrix = layer.matrix(int_type(static_cast<int>(bits)), codes.shape()[0], in);
  matrix.codes = PackedCodes::stream(codes, matrix.rows, in, static_cast<int>(bits));
  layer.check_codes(matrix.codes);
  matrix.block_columns = group;
  matrix.scales = [&scales] { return floats_of(scales); };
  matrix.biases = [&biases] { return floats_of(biases); };
  return matrix;
}

}  // namespace vkformer
