#pragma once
// What decoding and encoding of blocks share.

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/check.h"
#include "runtime/half.h"

namespace vkformer {

/// The values of IQ4_NL's and IQ4_XS's sixteen codes.
constexpr std::array<int8_t, 16> uneven_values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                  1,    13,   25,  38,  53,  69,  89,  113};
/// Twice the values of MXFP4's sixteen codes.
constexpr std::array<int8_t, 16> small_floats = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Half of 2^(exponent - 127), exactly, for every exponent of MXFP4.
inline float half_power(uint8_t exponent) {
  const uint32_t bits = exponent < 2 ? 0x00200000u << exponent : (uint32_t{exponent} - 1) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline float read_f16(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return from_half(DType::f16, bits);
}

/// Throws Error where the scale of a block is no finite number in 16 bits.
inline void write_f16(uint8_t* at, float value) {
  const uint16_t bits = to_half(DType::f16, value);
  check((bits & 0x7C00) != 0x7C00, "values are too large for blocks whose scale is an f16; choose bf16 or f32");
  std::memcpy(at, &bits, sizeof bits);
}

inline uint32_t read_word(const uint8_t* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// Scale and minimum of one of the eight groups of a Q4_K or Q5_K block, 6 bits each in 12 bytes.
struct SixBits {
  uint8_t scale, minimum;
};
inline SixBits six_bits(const uint8_t* packed, int group) {
  const auto bits = [](int value) { return static_cast<uint8_t>(value); };
  if (group < 4) return {bits(packed[group] & 63), bits(packed[group + 4] & 63)};
  return {bits((packed[group + 4] & 15) | (packed[group - 4] >> 6 << 4)),
          bits((packed[group + 4] >> 4) | (packed[group] >> 6 << 4))};
}

/// The 6-bit scale of one of the sixteen groups of a Q3_K block, less its middle.
inline int centred_scale(const uint8_t* packed, int group) {
  const int low = group < 8 ? packed[group] & 15 : packed[group - 8] >> 4;
  return (low | (packed[8 + group % 4] >> 2 * (group / 4) & 3) << 4) - 32;
}

}  // namespace vkformer
