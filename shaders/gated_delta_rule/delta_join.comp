#version 460
// dx and the gradients of beta and skip of what the sweeps left, for the heads of one key head at one position:
//   dq and dk are sums over those heads, dv = beta dwritten + skip dy, dbeta = sum of dwritten * corrections.
// Behind those lies what delta_decay_backward adds up: by d(exp(g) S) . (exp(g) S) = E . S - (E (beta w)) . k + dk_read . k and
// E . S = dq . q + that sum of the position behind, dg of a position is the sum of dq . q - beta dwritten . v from there on.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_delta_rule/delta_columns.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint INVOCATIONS = 64;  // a power of two

PUSH(DeltaJoinArgs);

shared vec4 slots[INVOCATIONS];

vec4 sum_of_all(vec4 x) {
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
  const uint columns = x_columns(sizes), lane = gl_LocalInvocationID.x;
  const uint query_at = row * columns + query_column(sizes, key_head);
  const uint key_at = row * columns + key_column(sizes, key_head);
  const bool corrects = rules(sizes, delta_corrects);  // else nothing is read, and the part is not there
  const uint dwritten_at = args.values_part, dq_at = 2 * args.values_part, dk_write_at = dq_at + args.keys_part;
  const uint dk_read_at = dk_write_at + args.keys_part, ends_at = dk_read_at + (corrects ? args.keys_part : 0);
  const bool live = is_live(sizes, args.texts, row), wants_x = (args.outputs & 1) != 0;
  if (wants_x)
    for (uint i = lane; i < sizes.key_width; i += INVOCATIONS) {
      vec2 sums = vec2(0);
      for (uint h = key_head * group; h < (key_head + 1) * group; ++h) {
        const uint at = (row * sizes.heads + h) * sizes.key_width + i;
        sums += vec2(args.scratch.v[dq_at + at], args.scratch.v[dk_write_at + at]);
        if (corrects) sums.y += args.scratch.v[dk_read_at + at];
      }
      args.dx.v[query_at + i] = sums.x;
      args.dx.v[key_at + i] = sums.y;
    }
  for (uint h = key_head * group; h < (key_head + 1) * group; ++h) {
    const float rate = live ? args.gates.v[2 * row * sizes.heads + h] : 0;
    const float skip = rules(sizes, delta_skips) && live ? args.skip.v[h] : 0;
    vec4 sums = vec4(0);
    for (uint j = lane; j < sizes.value_width; j += INVOCATIONS) {
      const uint at = (row * sizes.heads + h) * sizes.value_width + j;
      const uint value_at = row * columns + value_column(sizes, h) + j;
      const float dwritten = args.scratch.v[dwritten_at + at], dv = rate * dwritten;
      const float upstream = args.upstream.v[at], value = args.x.v[value_at];
      if (live) sums += vec4(dwritten * args.scratch.v[at], -dv * value, upstream * value, 0);
      if (wants_x) args.dx.v[value_at] = dv + skip * upstream;
    }
    for (uint i = lane; i < sizes.key_width; i += INVOCATIONS)
      if (live) sums.y += args.scratch.v[dq_at + (row * sizes.heads + h) * sizes.key_width + i] * args.x.v[query_at + i];
    if ((args.outputs & 6) == 0) continue;
    sums = sum_of_all(sums);
    if (lane != 0) continue;
    if ((args.outputs & 2) != 0) {
      args.dgates.v[2 * row * sizes.heads + h] = sums.x;
      args.scratch.v[ends_at + row * sizes.heads + h] = sums.y;
    }
    if ((args.outputs & 4) != 0) args.dskip.v[row * sizes.heads + h] = sums.z;
  }
}
