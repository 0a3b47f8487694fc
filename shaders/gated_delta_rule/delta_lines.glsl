#ifndef VKFORMER_DELTA_LINES_GLSL
#define VKFORMER_DELTA_LINES_GLSL
// A state that goes through time in registers. It falls apart into lines (columns of S, or its rows) that do not see
// each other; SHARERS invocations hold one, each HELD quads of its COLUMNS values. What all lines read of some
// positions is staged in shared memory, quads of nothing behind their ends. A workgroup takes LINES lines of a head (y)
// of a row (z).
//   -DSUBGROUP  sharers are neighbours in a full subgroup, and sums are shuffles; else they go through shared memory
#include "shaders/gated_delta_rule/delta_columns.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint INVOCATIONS = 64;
layout(constant_id = 1) const uint SHARERS = 4;  // a power of two
layout(constant_id = 2) const uint COLUMNS = 1;
layout(constant_id = 3) const uint STEPS = 1;  // positions staged at a time

const uint LINES = INVOCATIONS / SHARERS;
const uint HELD = (COLUMNS + 4 * SHARERS - 1) / (4 * SHARERS);
const uint QUADS = HELD * SHARERS;  // of a staged line

#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
uint invocation() { return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID; }

float line_sum(float x) {
  [[unroll]] for (uint step = 1; step < SHARERS; step *= 2) x += subgroupShuffleXor(x, step);
  return x;
}
#else
uint invocation() { return gl_LocalInvocationID.x; }

// Of this sum and the next: what reads the one is past the other's barrier before it is written again.
shared float slots[2 * INVOCATIONS];
uint turn = 0;

float line_sum(float x) {
  turn = INVOCATIONS - turn;
  slots[turn + invocation()] = x;
  barrier();
  const uint first = turn + invocation() / SHARERS * SHARERS;
  float sum = 0;
  for (uint i = 0; i < SHARERS; ++i) sum += slots[first + i];
  return sum;
}
#endif

uint sharer() { return invocation() % SHARERS; }
uint line_of_group() { return invocation() / SHARERS; }

// The state begins anew at this position, `t` of its row.
bool is_first(DeltaSizes sizes, Ints texts, uint row, uint t) {
  return rules(sizes, delta_has_texts) && t > 0 && texts.v[row] != texts.v[row - 1];
}

// What a position leaves of the state before it: all where it is skipped; below 0 where it is the first of a text, which
// knows nothing of that state, not even that it is NaN.
float decay_of(DeltaSizes sizes, Floats gates, Ints texts, uint row, uint t, uint head) {
  if (!is_live(sizes, texts, row)) return 1;
  return is_first(sizes, texts, row, t) ? -1 : exp(gates.v[(2 * row + 1) * sizes.heads + head]);
}
float rate_of(DeltaSizes sizes, Floats gates, Ints texts, uint row, uint head) {
  return is_live(sizes, texts, row) ? gates.v[2 * row * sizes.heads + head] : 0;
}

// Quad `quad` of the values that start at `first`; zeros behind the end, and of a position that is skipped.
vec4 staged_quad(Floats data, uint first, uint quad, bool live) {
  vec4 value = vec4(0);
  if (live) {
    [[unroll]] for (uint c = 0; c < 4; ++c)
      if (4 * quad + c < COLUMNS) value[c] = data.v[first + 4 * quad + c];
  }
  return value;
}
#endif
