#include <algorithm>
#include <cstring>

#include "models/quantised/forms.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

template <class Values>
std::vector<float> transposed(const Values& values, int64_t rows, int64_t columns) {
  std::vector<float> turned(values.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      turned[static_cast<size_t>(c * rows + r)] = static_cast<float>(values[static_cast<size_t>(r * columns + c)]);
  return turned;
}

void check_words(const QuantisedLayer& layer, const WeightTensor& codes, const WeightTensor& scales,
                 const WeightTensor& zeros) {
  layer.check_type(codes, {"I32"});
  layer.check_type(zeros, {"I32"});
  layer.check_type(scales, {"F16", "BF16", "F32"});
  for (const WeightTensor* tensor : {&codes, &scales, &zeros}) layer.check_matrix(*tensor);
}

}  // namespace

/// GPTQ: codes [in, out] in words down the columns, zeros [groups, out] along the rows, all LSB first.
/// AutoGPTQ's qlinear_cuda_old.py.
CodedMatrix gptq_layer(const QuantisedLayer& layer, const Quantisation& how) {
  const WeightTensor &codes = layer.codes(), &scales = layer.require(".scales"), &zeros = layer.require(".qzeros");
  check_words(layer, codes, scales, zeros);
  // A config's bits are not those of all layers.
  const int64_t zero_bits = zeros.shape()[1] * 32 / scales.shape()[1];
  layer.check_shape(zeros, (zero_bits >= 2 && zero_bits <= 4) || zero_bits == 8);
  const int bits = static_cast<int>(zero_bits);
  const int64_t in = codes.shape()[0] * 32 / bits, out = codes.shape()[1], groups = scales.shape()[0];
  CodedMatrix matrix = layer.matrix(int_type(bits), out, in);
  matrix.codes = PackedCodes::stream(codes, in, out, bits);
  matrix.codes.unit_bytes = bits == 3 ? 12 : 4;  // words, whose neighbours lie below
  matrix.codes.unit_codes = matrix.codes.unit_bytes * 8 / bits;
  matrix.codes.down = matrix.turned = true;
  layer.check_codes(matrix.codes);
  const PackedCodes packed_zeros = PackedCodes::stream(zeros, groups, out, bits);
  layer.check_codes(packed_zeros);
  matrix.block_columns = block_of(in, groups, how.block_columns);
  layer.check_shape(scales, scales.shape()[1] == out && matrix.block_columns > 0);
  layer.set_groups(layer.find(".g_idx"), groups, matrix);
  const int middle = 1 << (bits - 1);
  matrix.zero = static_cast<float>(middle);
  const std::string name = zeros.name();
  const auto read_zeros = [packed_zeros, bits, less = how.symmetric ? 0 : static_cast<int>(how.zeros_less_one)] {
    std::vector<uint8_t> stored = packed_zeros.all();
    for (uint8_t& zero : stored) zero = static_cast<uint8_t>((zero + less) & ((1 << bits) - 1));
    return stored;
  };
  if (!how.symmetric) matrix.zeros = [=] { return transposed(read_zeros(), groups, out); };
  matrix.scales = [=, &scales, symmetric = how.symmetric] {
    // Newer files have them as they are and say otherwise: of symmetric ones both are known.
    check(
        !symmetric || std::ranges::all_of(read_zeros(), [&](int zero) { return zero == middle || zero == middle - 1; }),
        "tensor {} has zeros that are not in the middle, for the config they are (sym)", in_quotes(name, 120));
    return transposed(floats_of(scales), groups, out);
  };
  return matrix;
}

/// AWQ: codes [in, out] and zeros [groups, out], eight to a word in an order of their own. AutoAWQ's packing_utils.py.
CodedMatrix awq_layer(const QuantisedLayer& layer, const Quantisation& how) {
  const WeightTensor &codes = layer.codes(), &scales = layer.require(".scales"), &zeros = layer.require(".qzeros");
  check_words(layer, codes, scales, zeros);
  const int64_t in = codes.shape()[0], out = codes.shape()[1] * 8, groups = scales.shape()[0];
  CodedMatrix matrix = layer.matrix("INT4", out, in);
  const auto packed = [&](const WeightTensor& tensor, int64_t rows) {
    PackedCodes words = PackedCodes::in_words(tensor, rows, out, 4, false);
    words.places = {0, 4, 1, 5, 2, 6, 3, 7};
    layer.check_codes(words);
    return words;
  };
  matrix.codes = packed(codes, in);
  matrix.turned = true;
  matrix.block_columns = block_of(in, groups, how.block_columns);
  layer.check_shape(scales, scales.shape()[1] == out && matrix.block_columns > 0);
  matrix.zeros = [=, packed_zeros = packed(zeros, groups)] { return transposed(packed_zeros.all(), groups, out); };
  matrix.scales = [=, &scales] { return transposed(floats_of(scales), groups, out); };
  return matrix;
}

/// compressed-tensors, "pack-quantized": codes [out, in] with the middle as zero, each word with as many as it has room
/// for; zeros in words down the columns.
CodedMatrix packed_layer(const QuantisedLayer& layer, const Quantisation& how) {
  const WeightTensor &codes = layer.codes(), &scales = layer.require(".weight_scale"),
                     &shape = layer.require(".weight_shape");
  layer.check_matrix(codes);
  layer.check_type(scales, {"F16", "BF16", "F32"});
  layer.check_type(shape, {"I64", "I32"});
  layer.check_shape(shape, shape.elements() == 2);
  const auto size_at = [bytes = bytes_of(shape)](size_t i) {
    const size_t width = bytes.size() / 2;
    int64_t size = 0;
    std::memcpy(&size, bytes.data() + i * width, width);
    return size;
  };
  const int64_t out = size_at(0), in = size_at(1);
  layer.check_shape(shape, out == codes.shape()[0] && in > 0 && in <= codes.shape()[1] * 32);
  const auto bits =
      std::ranges::find_if(how.int_bits, [&](int64_t b) { return (in + 32 / b - 1) / (32 / b) == codes.shape()[1]; });
  layer.check_shape(shape, bits != how.int_bits.end());
  const int width = static_cast<int>(*bits);
  CodedMatrix matrix = layer.matrix(int_type(width), out, in);
  matrix.codes = PackedCodes::in_words(codes, out, in, width, false);
  layer.check_codes(matrix.codes);
  layer.set_blocks(scales, how, matrix);
  const int64_t groups = (in + matrix.block_columns - 1) / matrix.block_columns;
  layer.set_groups(layer.find(".weight_g_idx"), groups, matrix);
  matrix.zero = static_cast<float>(1 << (width - 1));
  matrix.scales = [&scales] { return floats_of(scales); };
  if (const WeightTensor* zeros = layer.find(".weight_zero_point")) {
    layer.check_type(*zeros, {"I32", "I8"});
    PackedCodes packed = zeros->type() == "I32" ? PackedCodes::in_words(*zeros, out, groups, width, true)
                                                : PackedCodes::stream(*zeros, out, groups, 8);
    layer.check_codes(packed);
    matrix.zeros = [packed, offset = zeros->type() == "I32" ? 0 : 1 << (width - 1)] {
      std::vector<float> values;
      for (const uint8_t zero : packed.all())
        values.push_back(static_cast<float>(offset == 0 ? zero : static_cast<int8_t>(zero) + offset));
      return values;
    };
  }
  return matrix;
}

}  // namespace vkformer
