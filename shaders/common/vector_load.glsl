// Vector loads on lavapipe, and stores of pairs. lavapipe loads lane by lane even where lanes read neighbouring addresses,
// but an address that all lanes share is loaded once; LLVM merges such loads of neighbours, each meant for one lane,
// into one load of a vector. Addresses must be the same for all lanes in the driver's eyes: see
// uniform_loads_are_scalar() and uniform_number.glsl. Expects the constant SUBGROUP.
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_basic : require

// volatile: Mesa then does not compare every load with every other, half the time of a warm start with many loads; the
// code is the same.
layout(buffer_reference, scalar, buffer_reference_align = 4) volatile readonly buffer SharedWords { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) volatile readonly buffer SharedQuads { uvec4 v[]; };

// The word at `address` + 4 * lane.
uint word_vector_at(uint64_t address) {
  SharedQuads quads = SharedQuads(address);
  uint x = 0;
  [[unroll]] for (uint i = 0; i < SUBGROUP / 4; i++) {
    const uvec4 quad = quads.v[i];  // loaded by all lanes: in a branch of ?: it would not be
    [[unroll]] for (uint j = 0; j < 4; j++) x = gl_SubgroupInvocationID == 4 * i + j ? quad[j] : x;
  }
  return x;
}

float vector_at(uint64_t address) { return uintBitsToFloat(word_vector_at(address)); }

// The same with 64-bit words, at `address` + 8 * lane.
layout(buffer_reference, scalar, buffer_reference_align = 8) volatile readonly buffer SharedLongQuads { u64vec4 v[]; };

uint64_t long_word_vector_at(uint64_t address) {
  SharedLongQuads quads = SharedLongQuads(address);
  uint64_t x = uint64_t(0);
  [[unroll]] for (uint i = 0; i < SUBGROUP / 4; i++) {
    const u64vec4 quad = quads.v[i];
    [[unroll]] for (uint j = 0; j < 4; j++) x = gl_SubgroupInvocationID == 4 * i + j ? quad[j] : x;
  }
  return x;
}

// Two floats are stored at the price of one as a 64-bit word.
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer FloatPairWords { uint64_t v[]; };

uint64_t word_of(vec2 pair) { return packUint2x32(floatBitsToUint(pair)); }

#ifdef HALF
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#include "shaders/common/half.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 2) volatile readonly buffer SharedHalfQuads { u16vec4 v[]; };

// The 16-bit float at `address` + 2 * lane.
float half_vector_at(uint64_t address) {
  SharedHalfQuads quads = SharedHalfQuads(address);
  uint16_t x = uint16_t(0);
  [[unroll]] for (uint i = 0; i < SUBGROUP / 4; i++) {
    const u16vec4 quad = quads.v[i];
    [[unroll]] for (uint j = 0; j < 4; j++) x = gl_SubgroupInvocationID == 4 * i + j ? quad[j] : x;
  }
  return unpack_halves(x).x;
}
#endif
