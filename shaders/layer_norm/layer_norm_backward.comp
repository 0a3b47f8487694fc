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
// With x^ = (x - mean) * reciprocal_std and g = upstream * gain, for each row
//   dx = reciprocal_std * (g - mean of g - x^ * mean of (g x^)) + addend
// and over the workgroup's rows the sums of upstream * x^ (gain) and of upstream (bias), which column_sum adds up.
// dx may overwrite upstream.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/layer_norm/layer_norm.args.h"

layout(constant_id = 4) const bool ADD = false;

// The addend is sent for with the row, not behind its sums, where there are registers for that.
const bool AHEAD = ADD && COUNT <= 8;

PUSH(LayerNormBackwardArgs);

vec2 gain[COUNT], gain_sums[COUNT], bias_sums[COUNT];

void take_row(uint row) {
  const uint start = row * COLUMNS;
  const float mean = args.mean.v[row];
  const float reciprocal_std = args.reciprocal_std.v[row];
  vec2 x[COUNT], g[COUNT], g_sum = vec2(0), gx_sum = vec2(0);
  vec2 addend[AHEAD ? COUNT : 1];
  if (AHEAD)
    [[unroll]] for (uint n = 0; n < COUNT; ++n) addend[n] = load2(args.addend, start, n, whole(n), 0);
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    const vec2 upstream = load_reals2(args.upstream, start, n, whole(n), 0);
    x[n] = (load2(args.x, start, n, whole(n), mean) - mean) * reciprocal_std;
    g[n] = upstream * gain[n];
    gain_sums[n] += upstream * x[n];
    bias_sums[n] += upstream;
    g_sum += g[n];
    gx_sum += g[n] * x[n];
  }
  if ((args.outputs & 1) == 0) return;
  const vec2 means = lanes_sum2(vec2(g_sum.x + g_sum.y, gx_sum.x + gx_sum.y)) / COLUMNS;
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    vec2 dx = reciprocal_std * (g[n] - means.x - x[n] * means.y);
    if (ADD) dx += AHEAD ? addend[n] : load2(args.addend, start, n, whole(n), 0);
    store2(args.dx, start, n, whole(n), dx);
  }
}

void main() {
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    gain[n] = load2(args.gain, 0, n, whole(n), 0);
    gain_sums[n] = bias_sums[n] = vec2(0);
  }
  ROW_LOOP(take_row)
  if ((args.outputs & 2) == 0) return;
  const uint start = 2 * row_group() * COLUMNS;
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    store2(args.partial_sums, start, n, whole(n), gain_sums[n]);
    store2(args.partial_sums, start + COLUMNS, n, whole(n), bias_sums[n]);
  }
}
