#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// variant workgroup_f16: -DHALF=1
// variant workgroup_bf16: -DHALF=2
// variant subgroup_f16: -DSUBGROUP -DHALF=1
// variant subgroup_bf16: -DSUBGROUP -DHALF=2
// variant subgroups: -DSUBGROUPS
// variant subgroups_f16: -DSUBGROUPS -DHALF=1
// variant subgroups_bf16: -DSUBGROUPS -DHALF=2
// With x^ = x * reciprocal_rms and g = upstream * (gain_offset + gain), for each row
//   dx = reciprocal_rms * (g - x^ * mean of (g x^)) + addend
// and over the workgroup's rows, which are of one group, the sum of upstream * x^ (gain), which column_sum adds up. dx
// may overwrite upstream.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/rms_norm/rms_norm.args.h"

layout(constant_id = 4) const bool ADD = false;

// The addend is sent for with the row, not behind its sums, where there are registers for that.
const bool AHEAD = ADD && COUNT <= 8;

PUSH(RmsNormBackwardArgs);

uint group;
vec2 gain[COUNT], gain_sums[COUNT];

void take_row(uint place) {
  const uint row = place * args.groups + group, start = row * COLUMNS;
  const float reciprocal_rms = args.reciprocal_rms.v[row];
  vec2 x[COUNT], g[COUNT], gx_sum = vec2(0);
  vec2 addend[AHEAD ? COUNT : 1];
  if (AHEAD)
    [[unroll]] for (uint n = 0; n < COUNT; ++n) addend[n] = load2(args.addend, start, n, whole(n), 0);
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    const vec2 upstream = load_reals2(args.upstream, start, n, whole(n), 0);
    x[n] = load2(args.x, start, n, whole(n), 0) * reciprocal_rms;
    g[n] = upstream * gain[n];
    gain_sums[n] += upstream * x[n];
    gx_sum += g[n] * x[n];
  }
  if ((args.outputs & 1) == 0) return;
  const float gx_mean = lanes_sum(gx_sum.x + gx_sum.y) / COLUMNS;
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    vec2 dx = reciprocal_rms * (g[n] - x[n] * gx_mean);
    if (ADD) dx += AHEAD ? addend[n] : load2(args.addend, start, n, whole(n), 0);
    store2(args.dx, start, n, whole(n), dx);
  }
}

void main() {
  group = row_group() % args.groups;
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    gain[n] = args.gain_offset + load2(args.gain, group * COLUMNS, n, whole(n), 0);
    gain_sums[n] = vec2(0);
  }
  ROW_LOOP_OF(row_group() / args.groups, take_row)
  if ((args.outputs & 2) == 0) return;
  const uint start = row_group() * COLUMNS;
  [[unroll]] for (uint n = 0; n < COUNT; ++n) store2(args.partial_sums, start, n, whole(n), gain_sums[n]);
}
