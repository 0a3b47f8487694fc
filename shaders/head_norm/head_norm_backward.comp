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
// With x^ = x * reciprocal_rms and g = upstream * (gain_offset + gain), for each head
//   dx = reciprocal_rms * (g - x^ * mean of (g x^))
// and over the workgroup's heads the sum of upstream * x^ (gain), which column_sum adds up. dx may overwrite upstream.
#extension GL_GOOGLE_include_directive : require
#include "shaders/head_norm/head_columns.glsl"

PUSH(HeadNormBackwardArgs);

vec2 gain[COUNT], gain_sums[COUNT];

void take_row(uint item) {
  const uint start = first_column(args.range, item);
  const float reciprocal_rms = args.reciprocal_rms.v[head_index(args.range, item)];
  vec2 x[COUNT], g[COUNT], gx_sum = vec2(0);
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    const vec2 upstream = load_reals2(args.upstream, start, n, whole(n), 0);
    x[n] = load_reals2(args.x, start, n, whole(n), 0) * reciprocal_rms;
    g[n] = upstream * gain[n];
    gain_sums[n] += upstream * x[n];
    gx_sum += g[n] * x[n];
  }
  if ((args.outputs & 1) == 0) return;
  const float gx_mean = lanes_sum(gx_sum.x + gx_sum.y) / COLUMNS;
  [[unroll]] for (uint n = 0; n < COUNT; ++n)
    store_reals2(args.dx, start, n, whole(n), reciprocal_rms * (g[n] - x[n] * gx_mean));
  COPY_REST(args.upstream, args.dx, args.range, item)
}

void main() {
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    gain[n] = (args.outputs & 4) != 0 ? vec2(1) : args.gain_offset + load2(args.gain, 0, n, whole(n), 0);
    gain_sums[n] = vec2(0);
  }
  ROW_LOOP(take_row)
  if ((args.outputs & 2) == 0) return;
  const uint start = row_group() * COLUMNS;
  [[unroll]] for (uint n = 0; n < COUNT; ++n) store2(args.partial_sums, start, n, whole(n), gain_sums[n]);
}
