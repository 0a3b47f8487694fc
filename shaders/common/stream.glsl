#ifndef VKFORMER_STREAM_GLSL
#define VKFORMER_STREAM_GLSL
// Walks flat f32 arrays, 16-byte aligned and of equal length, four elements at a time, in order of memory within a
// workgroup. A kernel defines
//   void process(uint i, bool whole)
// which handles elements 4 i .. 4 i + 3 if `whole`, otherwise the one element i, through load() and store(), and calls
// STREAM(process) once in main. Every element belongs to one invocation, so a kernel may write where it reads.
//
// Compiled with -DHALF=... `RealQuads` are 16-bit floats (half.glsl), for load_reals() and store_reals(), and if not `whole` elements i and i + 1, one
// word, are handled together: x and y of what is loaded and stored. The second one may be past the end.
//
// Two forms of access: vec4, and (WORDS defined) pairs of 64-bit words, cheaper on drivers that load lane by lane.
#include "shaders/common/stream.args.h"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif

#ifdef WORDS
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Words { uint64_t v[]; };
#endif

layout(local_size_x_id = 0) in;  // at least 4

vec4 load(FloatQuads a, uint i, bool whole) {
  if (!whole) return vec4(a.v[i / 4][i % 4]);
#ifdef WORDS
  Words words = Words(a);
  return uintBitsToFloat(uvec4(unpackUint2x32(words.v[2 * i]), unpackUint2x32(words.v[2 * i + 1])));
#else
  return a.v[i];
#endif
}

void store(FloatQuads a, uint i, bool whole, vec4 value) {
  if (!whole) {
    a.v[i / 4][i % 4] = value.x;
    return;
  }
#ifdef WORDS
  Words words = Words(a);
  words.v[2 * i] = packUint2x32(floatBitsToUint(value.xy));
  words.v[2 * i + 1] = packUint2x32(floatBitsToUint(value.zw));
#else
  a.v[i] = value;
#endif
}

#ifdef HALF
const uint LEFT_OVER = 2;  // elements at a time, of those that make no quad

// Of RealQuads. (glslang 12 can't overload by kind of reference.)
vec4 load_reals(HalfQuads a, uint i, bool whole) {
  if (!whole) return vec4(unpack_halves(a.v[i / 4][i / 2 % 2]), 0, 0);
  return half_quad(a.v[i]);
}

void store_reals(HalfQuads a, uint i, bool whole, vec4 value) {
  if (whole) a.v[i] = uvec2(pack_halves(value.xy), pack_halves(value.zw));
  else a.v[i / 4][i / 2 % 2] = pack_halves(value.xy);
}
#else
const uint LEFT_OVER = 1;
#define load_reals load
#define store_reals store
#endif

uint stream_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

// The first workgroup also takes the up to three elements left over.
#define STREAM(process)                                                                                \
  {                                                                                                    \
    uint quads = args.stream.elements / 4;                                                             \
    uint first = stream_group() * args.stream.span;                                                    \
    uint end = min(first + args.stream.span, quads);                                                   \
    for (uint i = first + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) process(i, true);  \
    uint rest = quads * 4 + LEFT_OVER * gl_LocalInvocationID.x;                                        \
    if (stream_group() == 0 && rest < args.stream.elements) process(rest, false);                      \
  }

#endif
