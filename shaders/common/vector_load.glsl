// Vector loads on lavapipe. It loads lane by lane even where lanes read neighbouring addresses, but an address that all
// lanes share is loaded once; LLVM merges such loads of neighbours, each meant for one lane, into one load of a vector.
// Addresses must be the same for all lanes in the driver's eyes: see uniform_loads_are_scalar() and
// uniform_number.glsl. Expects the constant SUBGROUP.
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_basic : require

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SharedWords { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SharedQuads { uvec4 v[]; };

// The word at `address` + 4 * lane. In quads, since Mesa compares every load with every other.
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

#ifdef HALF
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#include "shaders/common/half.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 2) readonly buffer SharedHalfQuads { u16vec4 v[]; };

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
