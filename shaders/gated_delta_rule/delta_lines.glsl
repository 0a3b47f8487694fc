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
const bool WHOLE = 4 * QUADS == COLUMNS;

#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
uint invocation() { return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID; }

vec2 line_sum(vec2 x) {
  [[unroll]] for (uint step = 1; step < SHARERS; step *= 2) x += subgroupShuffleXor(x, step);
  return x;
}
#else
uint invocation() { return gl_LocalInvocationID.x; }

// Of this sum and the next: what reads the one is past the other's barrier before it is written again.
shared vec2 slots[2 * INVOCATIONS];
uint turn = 0;

vec2 line_sum(vec2 x) {
  turn = INVOCATIONS - turn;
  slots[turn + invocation()] = x;
  barrier();
  const uint first = turn + invocation() / SHARERS * SHARERS;
  vec2 sum = vec2(0);
  for (uint i = 0; i < SHARERS; ++i) sum += slots[first + i];
  return sum;
}
#endif

float line_sum(float x) { return line_sum(vec2(x, 0)).x; }
float total(vec4 x) { return (x.x + x.y) + (x.z + x.w); }

uint sharer() { return invocation() % SHARERS; }
uint line_of_group() { return invocation() / SHARERS; }

// Which column value c of a quad is: neighbours have neighbouring ones, so that what they load and store lies together.
uint column_of(uint quad, uint c) { return (quad / SHARERS * 4 + c) * SHARERS + quad % SHARERS; }

// What a position leaves of the state before it, and the rate at which it is written to. The first is below 0 where the
// state begins anew, which knows nothing of that before it, not even that it is NaN, and where the position is skipped.
// Here and where kernels stage, all is loaded before texts are looked at: else one load would wait for the other.
const float begins_anew = -1, is_skipped = -2;
vec2 gates_of(DeltaSizes sizes, Floats gates, Ints texts, uint row, uint t, uint head) {
  const uint at = 2 * row * sizes.heads + head;
  const float rate = gates.v[at], gate = gates.v[at + sizes.heads];
  int text = 1, before = 1;
  if (rules(sizes, delta_has_texts)) {
    text = texts.v[row];
    before = texts.v[t > 0 ? row - 1 : row];
  }
  return text == 0 ? vec2(is_skipped, 0) : vec2(text != before ? begins_anew : exp(gate), rate);
}

// Quad `quad` of the values that start at `first`; zeros behind the end.
vec4 staged_quad(Floats data, uint first, uint quad) {
  vec4 value;
  [[unroll]] for (uint c = 0; c < 4; ++c) {
    const uint column = column_of(quad, c);
    const float loaded = data.v[first + (WHOLE ? column : min(column, COLUMNS - 1))];
    value[c] = WHOLE || column < COLUMNS ? loaded : 0;
  }
  return value;
}
#endif
