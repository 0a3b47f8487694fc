#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/all_cores.h"
#include "runtime/check.h"
#include "runtime/encoding/block_bits.h"
#include "runtime/encoding/encode_block.h"
#include "runtime/encoding/encoding.h"

namespace vkformer {

namespace {

/// 1 / d, where there is something to divide.
float inverse(float d) { return d != 0 ? 1.0f / d : 0.0f; }

/// The integer part, from 0 to `most`: where d was too small to be divided by, quotients are infinite, and of zeros
/// NaN.
uint8_t whole(float value, float most) { return static_cast<uint8_t>(std::min(std::max(0.0f, value), most)); }

/// The value farthest from zero; of several the first.
float extreme(const float* values) {
  float largest = 0, result = 0;
  for (int j = 0; j < 32; ++j)
    if (largest < std::abs(values[j])) largest = std::abs(result = values[j]);
  return result;
}

/// Four bits of each of 32 numbers, the first sixteen low; the fifth bits are returned.
template <class Quantize>
uint32_t pack(uint8_t* quants, Quantize&& quantize) {
  uint32_t high = 0;
  for (int j = 0; j < 16; ++j) {
    const uint32_t first = quantize(j), second = quantize(j + 16);
    quants[j] = static_cast<uint8_t>((first & 15) | (second & 15) << 4);
    high |= first >> 4 << j | second >> 4 << (j + 16);
  }
  return high;
}

void encode_q8_0(const float* values, uint8_t* block) {
  const float d = std::abs(extreme(values)) / 127, factor = inverse(d);
  write_f16(block, d);
  for (int j = 0; j < 32; ++j)
    block[2 + j] = static_cast<uint8_t>(
        static_cast<int8_t>(values[j] == 0 ? 0.0f : std::clamp(std::round(values[j] * factor), -127.0f, 127.0f)));
}

/// Q4_0 and Q5_0: the value farthest from zero is the least code.
uint32_t encode_signed(const float* values, int levels, uint8_t* block, uint8_t* quants) {
  const auto middle = static_cast<float>(levels / 2);
  const float d = extreme(values) / -middle, factor = inverse(d);
  write_f16(block, d);
  return pack(quants,
              [&](int j) { return whole(values[j] * factor + (middle + 0.5f), static_cast<float>(levels - 1)); });
}

/// Q4_1 and Q5_1: codes count from the least value.
uint32_t encode_from_least(const float* values, int levels, uint8_t* block, uint8_t* quants) {
  const auto [least, most] = std::minmax_element(values, values + 32);
  const float minimum = *least, d = (*most - minimum) / static_cast<float>(levels - 1), factor = inverse(d);
  write_f16(block, d);
  write_f16(block + 2, minimum);
  return pack(quants,
              [&](int j) { return whole((values[j] - minimum) * factor + 0.5f, static_cast<float>(levels - 1)); });
}

void encode_q4_0(const float* values, uint8_t* block) { encode_signed(values, 16, block, block + 2); }
void encode_q4_1(const float* values, uint8_t* block) { encode_from_least(values, 16, block, block + 4); }
void encode_q5_0(const float* values, uint8_t* block) {
  const uint32_t high = encode_signed(values, 32, block, block + 6);
  std::memcpy(block + 2, &high, sizeof high);
}
void encode_q5_1(const float* values, uint8_t* block) {
  const uint32_t high = encode_from_least(values, 32, block, block + 8);
  std::memcpy(block + 4, &high, sizeof high);
}

void encode_mxfp4(const float* values, uint8_t* block) {
  const float largest = std::abs(extreme(values));
  // The largest code is 6: a power of two less than twice the largest value's quarter.
  block[0] = largest > 0 ? static_cast<uint8_t>(std::clamp(std::floor(std::log2(largest)) - 2 + 127, 0.0f, 254.0f)) : 0;
  const float d = half_power(block[0]);
  pack(block + 1, [&](int j) {
    uint32_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (uint32_t code = 0; code < small_floats.size(); ++code)
      if (const float error = std::abs(static_cast<float>(small_floats[code]) * d - values[j]); error < least)
        least = error, best = code;
    return best;
  });
}

EncodeBlock encoder_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return [](const float* values, uint8_t* block) { std::memcpy(block, values, sizeof *values); };
    case DType::f16:
      return [](const float* values, uint8_t* block) {
        const uint16_t bits = to_half(DType::f16, *values);
        std::memcpy(block, &bits, sizeof bits);
      };
    case DType::bf16:
      return [](const float* values, uint8_t* block) {
        const uint16_t bits = to_half(DType::bf16, *values);
        std::memcpy(block, &bits, sizeof bits);
      };
    case DType::q8_0: return encode_q8_0;
    case DType::q4_0: return encode_q4_0;
    case DType::q4_1: return encode_q4_1;
    case DType::q5_0: return encode_q5_0;
    case DType::q5_1: return encode_q5_1;
    case DType::iq4_nl: return encode_iq4_nl;
    case DType::iq4_xs: return encode_iq4_xs;
    case DType::mxfp4: return encode_mxfp4;
    default: return super_block_encoder(dtype);
  }
}

}  // namespace

void encode(DType dtype, std::span<const float> values, std::span<std::byte> blocks) {
  check(encoded_bytes(dtype, static_cast<int64_t>(values.size())) == static_cast<int64_t>(blocks.size()),
        "{} values are not {} bytes of {}", values.size(), blocks.size(), name_of(dtype));
  const EncodeBlock encode_block = encoder_of(dtype);
  check(encode_block != nullptr, "{} is no type of weights", name_of(dtype));
  const BlockFormat& format = format_of(dtype);
  if (is_blocks(dtype))
    for (float value : values)
      check(std::isfinite(value), "a weight is {}; {} holds finite numbers", value, format.name);
  constexpr int64_t piece = 1 << 16;  // values, whole blocks of any type
  const auto count = static_cast<int64_t>(values.size());
  on_all_cores((count + piece - 1) / piece, [&](int64_t n) {
    for (int64_t at = n * piece; at < std::min((n + 1) * piece, count); at += format.values)
      encode_block(values.data() + at, reinterpret_cast<uint8_t*>(blocks.data()) + at / format.values * format.bytes);
  });
}

}  // namespace vkformer
