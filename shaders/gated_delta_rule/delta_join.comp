#version 460
// dx and the gradients of beta of what the sweeps left, for the heads of one key head at one position:
//   dq and dk are sums over those heads, dv = beta dwritten, dbeta = sum of dwritten * corrections.
// `ends` is what delta_decay_backward adds up: by d(exp(g) S) . (exp(g) S) = E . S - (E (beta w)) . k + dk_read . k and
// E . S = dq . q + that sum of the position behind, dg of a position is the sum of dq . q - dv . v from there on.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_delta_rule/gated_delta_rule.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint INVOCATIONS = 64;  // a power of two

PUSH(DeltaJoinArgs);

shared vec2 slots[INVOCATIONS];

vec2 sum_of_all(vec2 x) {
  const uint lane = gl_LocalInvocationID.x;
  barrier();
  slots[lane] = x;
  barrier();
  for (uint step = INVOCATIONS / 2; step > 0; step /= 2) {
    if (lane < step) slots[lane] += slots[lane + step];
    barrier();
  }
  return slots[0];
}

void main() {
  const DeltaSizes sizes = args.sizes;
  const uint item = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (item >= args.rows) return;
  const uint row = item / sizes.key_heads, key_head = item % sizes.key_heads, group = sizes.heads / sizes.key_heads;
  const uint keys = sizes.key_heads * sizes.key_width, columns = 2 * keys + sizes.heads * sizes.value_width;
  const uint query_at = row * columns + key_head * sizes.key_width, lane = gl_LocalInvocationID.x;
  const bool live = sizes.has_texts == 0 || args.texts.v[row] != 0, wants_x = (args.outputs & 1) != 0;
  if (wants_x)
    for (uint i = lane; i < sizes.key_width; i += INVOCATIONS) {
      vec2 sums = vec2(0);
      for (uint h = key_head * group; h < (key_head + 1) * group; ++h) {
        const uint at = (row * sizes.heads + h) * sizes.key_width + i;
        sums += vec2(args.dq.v[at], args.dk_read.v[at] + args.dk_write.v[at]);
      }
      args.dx.v[query_at + i] = sums.x;
      args.dx.v[query_at + keys + i] = sums.y;
    }
  for (uint h = key_head * group; h < (key_head + 1) * group; ++h) {
    const float rate = live ? args.gates.v[2 * row * sizes.heads + h] : 0;
    vec2 sums = vec2(0);
    for (uint j = lane; j < sizes.value_width; j += INVOCATIONS) {
      const uint at = (row * sizes.heads + h) * sizes.value_width + j;
      const uint value_at = row * columns + 2 * keys + h * sizes.value_width + j;
      const float dwritten = args.dwritten.v[at], dv = rate * dwritten;
      if (live) sums += vec2(dwritten * args.corrections.v[at], -dv * args.x.v[value_at]);
      if (wants_x) args.dx.v[value_at] = dv;
    }
    for (uint i = lane; i < sizes.key_width; i += INVOCATIONS)
      if (live) sums.y += args.dq.v[(row * sizes.heads + h) * sizes.key_width + i] * args.x.v[query_at + i];
    if ((args.outputs & 2) == 0) continue;
    sums = sum_of_all(sums);
    if (lane == 0) {
      args.dgates.v[2 * row * sizes.heads + h] = sums.x;
      args.ends.v[row * sizes.heads + h] = sums.y;
    }
  }
}
