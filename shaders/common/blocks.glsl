#ifndef VKFORMER_BLOCKS_GLSL
#define VKFORMER_BLOCKS_GLSL
// Rows of encoded blocks as a device keeps them (runtime/encoding/planes.h); -DBLOCKS=BLOCKS_* says of which type. A value
// is (code - ZERO) * step - minimum, with one step and minimum for each GROUP of values. Codes come four at a time, a
// byte each, in two ways:
//   block_quad()               four neighbours, anywhere; block_value() one of them
//   load_grain(), grain_quad() GRAIN values that lie in one vector of 16 bytes, for streams of whole rows
// `blocks` is always their number in a row, `start` the row's first word, and positions are counted in values.
#include "shaders/common/shared.h"

#define BLOCKS_Q8_0 1
#define BLOCKS_Q4_0 2
#define BLOCKS_Q4_1 3
#define BLOCKS_Q5_0 4
#define BLOCKS_Q5_1 5
#define BLOCKS_Q2_K 6
#define BLOCKS_Q3_K 7
#define BLOCKS_Q4_K 8
#define BLOCKS_Q5_K 9
#define BLOCKS_Q6_K 10
#define BLOCKS_IQ4_NL 11
#define BLOCKS_IQ4_XS 12
#define BLOCKS_MXFP4 13

// Of 32 values in 16 bytes, the first sixteen in the low halves.
#define HALF_BYTES \
  (BLOCKS == BLOCKS_Q4_0 || BLOCKS == BLOCKS_Q4_1 || BLOCKS == BLOCKS_Q5_0 || BLOCKS == BLOCKS_Q5_1 || \
   BLOCKS == BLOCKS_IQ4_NL || BLOCKS == BLOCKS_IQ4_XS || BLOCKS == BLOCKS_MXFP4)
#define TWO_BITS (BLOCKS == BLOCKS_Q2_K || BLOCKS == BLOCKS_Q3_K)
#define SIX_BIT_SCALES (BLOCKS == BLOCKS_Q4_K || BLOCKS == BLOCKS_Q5_K)

#if BLOCKS == BLOCKS_Q8_0
const uint BLOCK_BYTES = 34;
#elif BLOCKS == BLOCKS_Q4_0 || BLOCKS == BLOCKS_IQ4_NL
const uint BLOCK_BYTES = 18;
#elif BLOCKS == BLOCKS_Q4_1
const uint BLOCK_BYTES = 20;
#elif BLOCKS == BLOCKS_Q5_0
const uint BLOCK_BYTES = 22;
#elif BLOCKS == BLOCKS_Q5_1
const uint BLOCK_BYTES = 24;
#elif BLOCKS == BLOCKS_Q2_K
const uint BLOCK_BYTES = 84;
#elif BLOCKS == BLOCKS_Q3_K
const uint BLOCK_BYTES = 110;
#elif BLOCKS == BLOCKS_Q4_K
const uint BLOCK_BYTES = 144;
#elif BLOCKS == BLOCKS_Q5_K
const uint BLOCK_BYTES = 176;
#elif BLOCKS == BLOCKS_Q6_K
const uint BLOCK_BYTES = 210;
#elif BLOCKS == BLOCKS_IQ4_XS
const uint BLOCK_BYTES = 136;
#else
const uint BLOCK_BYTES = 17;
#endif

#if TWO_BITS || SIX_BIT_SCALES || BLOCKS == BLOCKS_Q6_K || BLOCKS == BLOCKS_IQ4_XS
const uint BLOCK_VALUES = 256;
#else
const uint BLOCK_VALUES = 32;
#endif
#if TWO_BITS || BLOCKS == BLOCKS_Q6_K
const uint GROUP = 16;
#else
const uint GROUP = 32;
#endif

#if BLOCKS == BLOCKS_Q8_0
const float ZERO = 128;
#elif BLOCKS == BLOCKS_Q4_0
const float ZERO = 8;
#elif BLOCKS == BLOCKS_Q5_0
const float ZERO = 16;
#elif BLOCKS == BLOCKS_Q6_K
const float ZERO = 32;
#elif BLOCKS == BLOCKS_Q3_K
const float ZERO = 4;
#else
const float ZERO = 0;
#endif

/// Words of 4 bytes from one row to the next.
uint block_row_words(uint columns) { return (columns / BLOCK_VALUES * BLOCK_BYTES + 15) / 16 * 4; }

// --- codes and what they mean ---

const uint LOW_HALVES = 0x0F0F0F0Fu;

uint byte_of(uint word, uint i) { return word >> 8 * i & 0xFFu; }
uvec4 bytes_of(uint word) { return uvec4(word, word >> 8, word >> 16, word >> 24) & 0xFFu; }

#if BLOCKS == BLOCKS_IQ4_NL || BLOCKS == BLOCKS_IQ4_XS || BLOCKS == BLOCKS_MXFP4
// Four values a word, of signed bytes.
#if BLOCKS == BLOCKS_MXFP4
const uvec4 TABLE = uvec4(0x03020100u, 0x0C080604u, 0xFDFEFF00u, 0xF4F8FAFCu);
#else
const uvec4 TABLE = uvec4(0xBFAD9881u, 0xF6EADDCFu, 0x26190D01u, 0x71594535u);
#endif
float value_of(uint code) {
  const uint word = code < 8 ? (code < 4 ? TABLE.x : TABLE.y) : (code < 12 ? TABLE.z : TABLE.w);
  return float(bitfieldExtract(int(word), int(8 * (code % 4)), 8));
}
vec4 values_of(uint codes) {
  const uvec4 bytes = bytes_of(codes);
  return vec4(value_of(bytes.x), value_of(bytes.y), value_of(bytes.z), value_of(bytes.w));
}
#else
vec4 values_of(uint codes) { return vec4(bytes_of(codes)) - ZERO; }
#endif

vec4 decoded(uint codes, vec2 step_and_minimum) { return values_of(codes) * step_and_minimum.x - step_and_minimum.y; }

// Bits i to i + 3 as the fifth bits of four codes.
uint fifth_bits(uint bits, uint i) { return ((bits >> i & 0xFu) * 0x00204081u & 0x01010101u) << 4; }

// --- steps and minima ---

// Steps of common types are subnormal f16 (all of Q6_K's in ordinary models), which a device may take for zeros in
// conversions unless it promises otherwise; see runtime/vulkan/half_modes.h.
layout(constant_id = 100) const bool HALVES_MAY_VANISH = false;
float exact_half(uint bits) {
  const uint magnitude = bits & 0x7fffu;
  const float normal = uintBitsToFloat((magnitude << 13) + (magnitude < 0x7c00u ? 0x38000000u : 0x70000000u));
  const float value = magnitude < 0x400u ? float(magnitude) * 5.9604644775390625e-8 : normal;  // multiples of 2^-24
  return (bits & 0x8000u) != 0 ? -value : value;
}
vec2 half_pair(uint word) {
  return HALVES_MAY_VANISH ? vec2(exact_half(word & 0xffffu), exact_half(word >> 16)) : unpackHalf2x16(word);
}

float half_of(Halves data, uint i) {
  const vec2 pair = half_pair(data.v[i / 2]);
  return i % 2 == 0 ? pair.x : pair.y;
}

#if SIX_BIT_SCALES
// The words of a block's first vector: d and dmin, then 6 bits for the step and for the minimum of eight groups.
vec2 six_bit_step(uvec4 header, uint group) {
  const uint i = group % 4, steps = byte_of(header.y, i), minima = byte_of(header.z, i), rest = byte_of(header.w, i);
  const uvec2 bits = group < 4 ? uvec2(steps, minima) & 63u : uvec2(rest & 15u | steps >> 6 << 4, rest >> 4 | minima >> 6 << 4);
  return half_pair(header.x) * vec2(bits);
}
#endif

// Of group `group` of the row.
vec2 group_step(Halves data, uint start, uint blocks, uint group) {
#if BLOCKS == BLOCKS_Q8_0
  return vec2(half_of(data, 2 * start + blocks * 16 + group), 0);
#elif BLOCKS == BLOCKS_Q4_0 || BLOCKS == BLOCKS_IQ4_NL
  return vec2(half_of(data, 2 * start + blocks * 8 + group), 0);
#elif BLOCKS == BLOCKS_Q4_1
  return half_pair(data.v[start + blocks * 4 + group]) * vec2(1, -1);
#elif BLOCKS == BLOCKS_Q5_0
  return vec2(half_of(data, 2 * start + blocks * 10 + group), 0);
#elif BLOCKS == BLOCKS_Q5_1
  return half_pair(data.v[start + blocks * 5 + group]) * vec2(1, -1);
#elif BLOCKS == BLOCKS_MXFP4
  const uint exponent = byte_of(data.v[start + blocks * 4 + group / 4], group % 4);
  return vec2(uintBitsToFloat(exponent < 2 ? 0x00200000u << exponent : exponent - 1 << 23), 0);
#elif BLOCKS == BLOCKS_IQ4_XS
  const uint block = group / 8, i = group % 8, header = start + blocks * 32 + 2 * block;
  const uint first = data.v[header], low = data.v[header + 1] >> 4 * i & 15u, high = first >> 16 + 2 * i & 3u;
  return vec2(half_pair(first).x * (float(low | high << 4) - 32), 0);
#elif BLOCKS == BLOCKS_Q2_K
  const uint scale = byte_of(data.v[start + blocks * 16 + group / 4], group % 4);
  return half_pair(data.v[start + blocks * 20 + group / 16]) * vec2(scale & 15u, scale >> 4);
#elif BLOCKS == BLOCKS_Q3_K
  const uint block = group / 16, i = group % 16, scales = start + blocks * 24 + 3 * block;
  const uint low = byte_of(data.v[scales + i / 4 % 2], i % 4) >> (i < 8 ? 0 : 4) & 15u;
  const uint high = byte_of(data.v[scales + 2], i % 4) >> i / 4 * 2 & 3u;
  return vec2(half_of(data, 2 * start + blocks * 54 + block) * (float(low | high << 4) - 32), 0);
#elif BLOCKS == BLOCKS_Q6_K
  const int scale = bitfieldExtract(int(data.v[start + blocks * 48 + group / 4]), int(8 * (group % 4)), 8);
  return vec2(half_of(data, 2 * start + blocks * 104 + group / 16) * float(scale), 0);
#else
  const uint header = start + group / 8 * (BLOCK_BYTES / 4);
  return six_bit_step(uvec4(data.v[header], data.v[header + 1], data.v[header + 2], data.v[header + 3]), group % 8);
#endif
}

// --- four neighbours ---

// The codes of values `column` to `column` + 3, a multiple of 4.
uint quad_codes(Halves data, uint start, uint blocks, uint column) {
#if BLOCKS == BLOCKS_Q8_0
  return data.v[start + column / 4] ^ 0x80808080u;
#elif HALF_BYTES
  const uint group = column / 32, i = column % 32;
  const uint codes = data.v[start + 4 * group + i % 16 / 4] >> (i < 16 ? 0 : 4) & LOW_HALVES;
#if BLOCKS == BLOCKS_Q5_0 || BLOCKS == BLOCKS_Q5_1
  return codes | fifth_bits(data.v[start + 4 * blocks + group], i);
#else
  return codes;
#endif
#elif TWO_BITS
  const uint block = column / 256, i = column % 256, byte = i % 32;
  const uint low = data.v[start + 16 * block + i / 128 * 8 + byte / 4] >> i % 128 / 32 * 2 & 0x03030303u;
#if BLOCKS == BLOCKS_Q3_K
  return low | (data.v[start + 16 * blocks + 8 * block + byte / 4] >> i / 32 & 0x01010101u) << 2;
#else
  return low;
#endif
#elif BLOCKS == BLOCKS_Q6_K
  const uint block = column / 256, i = column % 256, quarter = i % 128 / 32, byte = i % 32;
  const uint low = data.v[start + 32 * block + i / 128 * 16 + quarter % 2 * 8 + byte / 4] >> quarter / 2 * 4 & LOW_HALVES;
  const uint high = data.v[start + 32 * blocks + 16 * block + i / 128 * 8 + byte / 4] >> quarter * 2 & 0x03030303u;
  return low | high << 4;
#else
  const uint block = start + column / 256 * (BLOCK_BYTES / 4), group = column % 256 / 32, byte = column % 32;
  const uint quants = block + BLOCK_BYTES / 4 - 32;
  const uint codes = data.v[quants + group / 2 * 8 + byte / 4] >> group % 2 * 4 & LOW_HALVES;
#if BLOCKS == BLOCKS_Q5_K
  return codes | (data.v[block + 4 + byte / 4] >> group & 0x01010101u) << 4;
#else
  return codes;
#endif
#endif
}

vec4 block_quad(Halves data, uint start, uint blocks, uint column) {
  return decoded(quad_codes(data, start, blocks, column), group_step(data, start, blocks, column / GROUP));
}

float block_value(Halves data, uint start, uint blocks, uint column) {
  const vec4 quad = block_quad(data, start, blocks, column / 4 * 4);
  const vec2 pair = column % 4 < 2 ? quad.xy : quad.zw;
  return column % 2 == 0 ? pair.x : pair.y;
}

// --- whole vectors ---

#if BLOCKS == BLOCKS_Q8_0
#define GRAIN 16
#elif TWO_BITS
#define GRAIN 64
#else
#define GRAIN 32
#endif

struct Grain {
  uvec4 low;         // all codes, or their low bits
#if BLOCKS == BLOCKS_Q3_K || BLOCKS == BLOCKS_Q5_K || BLOCKS == BLOCKS_Q6_K
  uvec4 high;        // high bits of the same bytes
#elif BLOCKS == BLOCKS_Q5_0 || BLOCKS == BLOCKS_Q5_1
  uint high;
#endif
#if SIX_BIT_SCALES
  uvec4 header;
#else
  vec2 steps[TWO_BITS ? 4 : BLOCKS == BLOCKS_Q6_K ? 2 : 1];  // by what a quad is shifted
#endif
};

// Grain `g` of the row as a column: its first value, and of quad `i` its first value.
uint grain_column(uint g, uint i) {
#if TWO_BITS
  return g / 2 * 128 + i / 4 * 32 + g % 2 * 16 + i % 4 * 4;
#elif SIX_BIT_SCALES
  return g / 2 * 64 + i / 4 * 32 + g % 2 * 16 + i % 4 * 4;
#elif BLOCKS == BLOCKS_Q6_K
  return g / 4 * 128 + i / 4 * 64 + g % 4 * 16 + i % 4 * 4;
#else
  return g * GRAIN + 4 * i;
#endif
}

// `vectors` are the words of `data`.
Grain load_grain(HalfPacks vectors, Halves data, uint start, uint blocks, uint g) {
  Grain grain;
  const uint first = start / 4;
#if SIX_BIT_SCALES
  const uint block = first + g / 8 * (BLOCK_BYTES / 16);
  grain.header = vectors.v[block];
  grain.low = vectors.v[block + BLOCK_BYTES / 16 - 8 + g % 8];
#if BLOCKS == BLOCKS_Q5_K
  grain.high = vectors.v[block + 1 + g % 2];
#endif
#else
  grain.low = vectors.v[first + g];
#if TWO_BITS
#if BLOCKS == BLOCKS_Q3_K
  grain.high = vectors.v[first + 4 * blocks + g / 4 * 2 + g % 2];
#endif
  [[unroll]] for (uint s = 0; s < 4; s++) {
    grain.steps[s] = group_step(data, start, blocks, grain_column(g, 4 * s) / GROUP);
  }
#elif BLOCKS == BLOCKS_Q6_K
  grain.high = vectors.v[first + 8 * blocks + g / 4 * 2 + g % 2];
  [[unroll]] for (uint s = 0; s < 2; s++) {
    grain.steps[s] = group_step(data, start, blocks, grain_column(g, 4 * s) / GROUP);
  }
#else
  grain.steps[0] = group_step(data, start, blocks, g * GRAIN / GROUP);
#if BLOCKS == BLOCKS_Q5_0 || BLOCKS == BLOCKS_Q5_1
  grain.high = data.v[start + 4 * blocks + g];
#endif
#endif
#endif
  return grain;
}

// Quad `i` of grain `g`: with loops unrolled `i` is a constant.
vec4 grain_quad(Grain grain, uint g, uint i) {
  const uint word = i % 4, shifted = i / 4;
#if BLOCKS == BLOCKS_Q8_0
  return decoded(grain.low[word] ^ 0x80808080u, grain.steps[0]);
#elif TWO_BITS
  const uint low = grain.low[word] >> 2 * shifted & 0x03030303u;
#if BLOCKS == BLOCKS_Q3_K
  return decoded(low | (grain.high[word] >> g % 4 / 2 * 4 + shifted & 0x01010101u) << 2, grain.steps[shifted]);
#else
  return decoded(low, grain.steps[shifted]);
#endif
#else
  const uint low = grain.low[word] >> 4 * shifted & LOW_HALVES;
#if BLOCKS == BLOCKS_Q6_K
  const uint high = grain.high[word] >> g % 4 / 2 * 2 + 4 * shifted & 0x03030303u;
  return decoded(low | high << 4, grain.steps[shifted]);
#elif SIX_BIT_SCALES
  const uint group = g % 8 / 2 * 2 + shifted;
#if BLOCKS == BLOCKS_Q5_K
  return decoded(low | (grain.high[word] >> group & 0x01010101u) << 4, six_bit_step(grain.header, group));
#else
  return decoded(low, six_bit_step(grain.header, group));
#endif
#elif BLOCKS == BLOCKS_Q5_0 || BLOCKS == BLOCKS_Q5_1
  return decoded(low | fifth_bits(grain.high, 4 * i), grain.steps[0]);
#else
  return decoded(low, grain.steps[0]);
#endif
#endif
}
#endif
