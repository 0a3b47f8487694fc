#ifndef VKFORMER_HALF_GLSL
#define VKFORMER_HALF_GLSL
// 16-bit floats in 32-bit words, two to a word, the first one in the lower half: no device feature is needed for that.
// HALF says which ones: HALF_F16 or HALF_BF16.
#include "shaders/common/shared.h"

#define HALF_F16 1
#define HALF_BF16 2

#if HALF == HALF_F16
vec2 unpack_halves(uint word) { return unpackHalf2x16(word); }
// x as an f16 holds it, to nearest. Of packing and unpacking compilers may leave out both.
float rounded_half(float x) {
  const uint bits = floatBitsToUint(x);
  const float normal = uintBitsToFloat(bits + 0xfffu + (bits >> 13 & 1u) & ~0x1fffu);
  const float small = roundEven(x * 16777216.0) * 5.9604644775390625e-8;  // multiples of 2^-24, below 2^-14
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;  // compilers may take isnan() for false
  return nan ? x : abs(x) < 6.103515625e-5 ? small : normal;
}
// Devices that do not promise to round to nearest (runtime/vulkan/half_modes.h) may cut off what they pack.
layout(constant_id = 101) const bool HALVES_MAY_BE_CUT = false;
// What rounds to nearest beyond the largest is infinite, whatever the device does: loss scales live on overflows that
// are seen.
uint pack_halves(vec2 pair) {
  if (HALVES_MAY_BE_CUT) pair = vec2(rounded_half(pair.x), rounded_half(pair.y));
  const vec2 infinite = uintBitsToFloat(floatBitsToUint(pair) & 0x80000000u | 0x7f800000u);
  return packHalf2x16(mix(pair, infinite, greaterThanEqual(abs(pair), vec2(65520))));
}
#else
vec2 unpack_halves(uint word) { return uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)); }
// The upper half of an f32, rounded to nearest, ties to even; NaN must not round up to infinity.
uint pack_halves(vec2 pair) {
  const uvec2 bits = floatBitsToUint(pair);
  const uvec2 rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  const uvec2 kept = mix(rounded, bits | 0x400000u, greaterThan(bits & 0x7fffffffu, uvec2(0x7f800000u))) >> 16;
  return kept.x | kept.y << 16;
}
float rounded_half(float x) { return unpack_halves(pack_halves(vec2(x, 0))).x; }
#endif

// What is finite and beyond `most` becomes it.
vec2 saturated(vec2 x, float most) {
  const bvec2 infinite = equal(floatBitsToUint(abs(x)), uvec2(0x7f800000u));
  return mix(x, sign(x) * most, mix(greaterThan(abs(x), vec2(most)), bvec2(false), infinite));
}

// What is finite and beyond the largest f16 becomes that. A bf16 has an f32's range.
vec2 within_half(vec2 pair) {
#if HALF == HALF_F16
  pair = saturated(pair, 65504.0);
#endif
  return pair;
}

// The bits of element i.
uint half_bits(Halves data, uint i) { return data.v[i / 2] >> 16 * (i % 2) & 0xffffu; }
uvec2 gathered_halves(Halves data, uint at[4]) {
  return uvec2(half_bits(data, at[0]) | half_bits(data, at[1]) << 16,
               half_bits(data, at[2]) | half_bits(data, at[3]) << 16);
}
float half_at(Halves data, uint i) {
  const vec2 pair = unpack_halves(data.v[i / 2]);
  return i % 2 == 0 ? pair.x : pair.y;
}
vec4 half_quad(uvec2 words) { return vec4(unpack_halves(words.x), unpack_halves(words.y)); }
#endif
