#include "runtime/half.h"

#include <bit>
#include <cmath>

namespace vkformer {

namespace {

/// bits / 2^shift to the nearest integer, ties to even.
uint32_t shift_rounding(uint32_t bits, uint32_t shift) {
  return (bits + (1u << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift;
}

uint16_t to_f16(uint32_t sign, uint32_t magnitude) {
  constexpr uint32_t smallest_normal = 113u << 23, infinity = 143u << 23;  // 2^-14 and 2^16 as f32
  if (magnitude >= infinity) return static_cast<uint16_t>(sign | 0x7C00u);
  if (magnitude < smallest_normal) {  // a multiple of 2^-24
    const float units = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(units));
  }
  // A carry out of the fraction increments the exponent, up to infinity.
  return static_cast<uint16_t>(sign | shift_rounding(magnitude - (112u << 23), 13));
}

float from_f16(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = bits >> 10 & 0x1Fu;
  const uint32_t fraction = bits & 0x3FFu;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide_exponent = exponent == 0x1F ? 0xFFu : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

}  // namespace

uint16_t to_half(DType dtype, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | (dtype == DType::f16 ? 0x7E00u : 0x7FC0u));
  if (dtype == DType::f16) return to_f16(sign, magnitude);
  return static_cast<uint16_t>(sign | shift_rounding(magnitude, 16));
}

float from_half(DType dtype, uint16_t bits) {
  return dtype == DType::f16 ? from_f16(bits) : std::bit_cast<float>(uint32_t{bits} << 16);
}

double round_to(DType dtype, double value) {
  if (dtype == DType::i32 || is_blocks(dtype)) return value;
  const auto single = static_cast<float>(value);
  return static_cast<double>(is_half(dtype) ? from_half(dtype, to_half(dtype, single)) : single);
}

}  // namespace vkformer
