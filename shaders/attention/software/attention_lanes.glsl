// For drivers that run a subgroup as one CPU vector. A row is loaded lane-wise, once, and its elements are spread with
// subgroupBroadcast; every array is indexed by constants after unrolling, so it lives in registers. The workgroup is
// one subgroup. Variant u64 reads two floats at a time, which costs such drivers what one does.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "shaders/attention/attention.glsl"

const int lanes = int(gl_WorkGroupSize.x);
#ifdef PAIRS
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Elements { uint64_t v[]; };
#define ELEMENTS(floats) Elements(floats)
#define ELEMENT vec2
const int per_element = 2;
vec2 load_element(Elements from, int i) { return uintBitsToFloat(unpackUint2x32(from.v[i])); }
float component(vec2 element, int i) { return element[i]; }
#else
#define Elements Floats
#define ELEMENTS(floats) floats  // no cast of a pointer: not every driver has it
#define ELEMENT float
const int per_element = 1;
float load_element(Elements from, int i) { return from.v[i]; }
float component(float element, int i) { return element; }
#endif

const int key_elements = head_width / per_element;
const int value_elements = value_width / per_element;
const int key_vectors = (key_elements + lanes - 1) / lanes;
const int value_vectors = (value_elements + lanes - 1) / lanes;

// Element `t * lanes + lane` of a row of `count` elements that starts at float `at`; past the end, the last one.
ELEMENT row_vector(Elements from, int at, int t, int count) {
  int i = t * lanes + int(gl_SubgroupInvocationID);
  return load_element(from, at / per_element + min(i, count - 1));
}
// Float c of a row held as vectors, the same in every lane.
#define SPREAD(row, c) \
  subgroupBroadcast(component(row[(c) / (per_element * lanes)], (c) % per_element), ((c) / per_element) % lanes)

// Blocks in an order that gives both halves of the list the same share of a triangle: drivers split the list so.
int balanced(int i, int blocks) {
  int evens = (blocks + 1) / 2;
  return i < evens ? 2 * i : 2 * (i - evens) + 1;
}
