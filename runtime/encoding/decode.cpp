#include <algorithm>

#include "runtime/check.h"
#include "runtime/encoding/block_bits.h"
#include "runtime/encoding/encoding.h"

namespace vkformer {

namespace {

/// One block's values: sums and products are of f32 and in ggml's order.
using DecodeBlock = void (*)(const uint8_t* block, float* values);

void decode_q8_0(const uint8_t* block, float* values) {
  const float d = read_f16(block);
  for (int j = 0; j < 32; ++j) values[j] = static_cast<float>(static_cast<int8_t>(block[2 + j])) * d;
}

void decode_q4_0(const uint8_t* block, float* values) {
  const float d = read_f16(block);
  for (int j = 0; j < 16; ++j) {
    values[j] = static_cast<float>((block[2 + j] & 15) - 8) * d;
    values[j + 16] = static_cast<float>((block[2 + j] >> 4) - 8) * d;
  }
}

void decode_q4_1(const uint8_t* block, float* values) {
  const float d = read_f16(block), m = read_f16(block + 2);
  for (int j = 0; j < 16; ++j) {
    values[j] = static_cast<float>(block[4 + j] & 15) * d + m;
    values[j + 16] = static_cast<float>(block[4 + j] >> 4) * d + m;
  }
}

/// Value j of 32 in 5 bits: four of `quants`, one of `high`.
float five_bits(const uint8_t* quants, uint32_t high, int j) {
  const int low = j < 16 ? quants[j] & 15 : quants[j - 16] >> 4;
  return static_cast<float>(low | static_cast<int>(high >> j & 1) << 4);
}

void decode_q5_0(const uint8_t* block, float* values) {
  const float d = read_f16(block);
  const uint32_t high = read_word(block + 2);
  for (int j = 0; j < 32; ++j) values[j] = (five_bits(block + 6, high, j) - 16) * d;
}

void decode_q5_1(const uint8_t* block, float* values) {
  const float d = read_f16(block), m = read_f16(block + 2);
  const uint32_t high = read_word(block + 4);
  for (int j = 0; j < 32; ++j) values[j] = five_bits(block + 8, high, j) * d + m;
}

void decode_q2_k(const uint8_t* block, float* values) {
  const float d = read_f16(block + 80), dmin = read_f16(block + 82);
  for (int j = 0; j < 256; ++j) {
    const uint8_t scale = block[j / 16], quants = block[16 + j / 128 * 32 + j % 32];
    const float step = d * static_cast<float>(scale & 15), minimum = dmin * static_cast<float>(scale >> 4);
    values[j] = step * static_cast<float>(quants >> j % 128 / 32 * 2 & 3) - minimum;
  }
}

void decode_q3_k(const uint8_t* block, float* values) {
  const float d = read_f16(block + 108);
  for (int j = 0; j < 256; ++j) {
    const uint8_t quants = block[32 + j / 128 * 32 + j % 32];
    const int high = block[j % 32] >> j / 32 & 1;
    const float step = d * static_cast<float>(centred_scale(block + 96, j / 16));
    values[j] = step * static_cast<float>((quants >> j % 128 / 32 * 2 & 3) - (high ? 0 : 4));
  }
}

/// Q4_K, or with `high` Q5_K: 64 values at a time, the low halves of 32 bytes and then the high ones.
void decode_minima(const uint8_t* block, const uint8_t* high, const uint8_t* quants, float* values) {
  const float d = read_f16(block), dmin = read_f16(block + 2);
  for (int group = 0; group < 8; ++group) {
    const SixBits bits = six_bits(block + 4, group);
    const float step = d * static_cast<float>(bits.scale), minimum = dmin * static_cast<float>(bits.minimum);
    for (int j = 0; j < 32; ++j) {
      const int low = quants[group / 2 * 32 + j] >> group % 2 * 4 & 15;
      const int fifth = high ? (high[j] >> group & 1) << 4 : 0;
      values[group * 32 + j] = step * static_cast<float>(low + fifth) - minimum;
    }
  }
}

void decode_q4_k(const uint8_t* block, float* values) { decode_minima(block, nullptr, block + 16, values); }
void decode_q5_k(const uint8_t* block, float* values) { decode_minima(block, block + 16, block + 48, values); }

void decode_q6_k(const uint8_t* block, float* values) {
  const float d = read_f16(block + 208);
  for (int j = 0; j < 256; ++j) {
    const int half = j / 128, quarter = j % 128 / 32, l = j % 32;
    const int low = block[half * 64 + quarter % 2 * 32 + l] >> quarter / 2 * 4 & 15;
    const int high = block[128 + half * 32 + l] >> quarter * 2 & 3;
    const float step = d * static_cast<float>(static_cast<int8_t>(block[192 + j / 16]));
    values[j] = step * static_cast<float>((low | high << 4) - 32);
  }
}

/// 32 values of 4-bit codes, the low ones first.
void decode_codes(const std::array<int8_t, 16>& table, float d, const uint8_t* codes, float* values) {
  for (size_t j = 0; j < 16; ++j) {
    values[j] = d * static_cast<float>(table[codes[j] & 15]);
    values[j + 16] = d * static_cast<float>(table[codes[j] >> 4]);
  }
}

void decode_iq4_nl(const uint8_t* block, float* values) {
  decode_codes(uneven_values, read_f16(block), block + 2, values);
}

void decode_iq4_xs(const uint8_t* block, float* values) {
  const float d = read_f16(block);
  for (int group = 0; group < 8; ++group) {
    const int low = block[4 + group / 2] >> group % 2 * 4 & 15;
    const int high = block[2 + group / 4] >> group % 4 * 2 & 3;
    const float step = d * static_cast<float>((low | high << 4) - 32);
    decode_codes(uneven_values, step, block + 8 + group * 16, values + group * 32);
  }
}

void decode_mxfp4(const uint8_t* block, float* values) {
  decode_codes(small_floats, half_power(block[0]), block + 1, values);
}

DecodeBlock decoder_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return [](const uint8_t* block, float* values) { std::memcpy(values, block, sizeof *values); };
    case DType::f16: return [](const uint8_t* block, float* values) { *values = read_f16(block); };
    case DType::bf16:
      return [](const uint8_t* block, float* values) {
        const uint8_t widened[] = {0, 0, block[0], block[1]};
        std::memcpy(values, widened, sizeof *values);
      };
    case DType::q8_0: return decode_q8_0;
    case DType::q4_0: return decode_q4_0;
    case DType::q4_1: return decode_q4_1;
    case DType::q5_0: return decode_q5_0;
    case DType::q5_1: return decode_q5_1;
    case DType::q2_k: return decode_q2_k;
    case DType::q3_k: return decode_q3_k;
    case DType::q4_k: return decode_q4_k;
    case DType::q5_k: return decode_q5_k;
    case DType::q6_k: return decode_q6_k;
    case DType::iq4_nl: return decode_iq4_nl;
    case DType::iq4_xs: return decode_iq4_xs;
    case DType::mxfp4: return decode_mxfp4;
    case DType::i32: break;
  }
  fail("{} is no type of weights", name_of(dtype));
}

}  // namespace

int64_t encoded_bytes(DType dtype, int64_t values) {
  const BlockFormat& format = format_of(dtype);
  check(values % format.values == 0, "{} values are no whole blocks of {}, which have {}", values, format.name,
        format.values);
  return values / format.values * format.bytes;
}

void decode(DType dtype, std::span<const std::byte> blocks, std::span<float> values) {
  check(encoded_bytes(dtype, static_cast<int64_t>(values.size())) == static_cast<int64_t>(blocks.size()),
        "{} bytes of {} are not {} values", blocks.size(), name_of(dtype), values.size());
  const DecodeBlock decode_block = decoder_of(dtype);
  const BlockFormat& format = format_of(dtype);
  const auto* block = reinterpret_cast<const uint8_t*>(blocks.data());
  for (float* at = values.data(); at != values.data() + values.size(); at += format.values, block += format.bytes)
    decode_block(block, at);
}

}  // namespace vkformer
