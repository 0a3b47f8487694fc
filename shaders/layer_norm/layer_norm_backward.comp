#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// With x^ = (x - mean) * reciprocal_std and g = upstream * gain, for each row
//   dx = reciprocal_std * (g - mean of g - x^ * mean of (g x^))
// and over the workgroup's rows the sums of upstream * x^ (gain) and of upstream (bias), which column_sum adds up.
// dx may overwrite upstream.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/layer_norm/layer_norm.args.h"

layout(constant_id = 4) const uint HELD = 1;

PUSH(LayerNormBackwardArgs);

vec2 gain_sums[COUNT], bias_sums[COUNT], held_x[HELD], held_g[HELD];

void main() {
  for (uint n = 0; n < COUNT; ++n) gain_sums[n] = bias_sums[n] = vec2(0);
  const uint end = min(first_row() + ROWS, args.rows);
  for (uint row = first_row(); row < end; ++row) {
    const uint start = row * COLUMNS;
    const float mean = args.mean.v[row];
    const float reciprocal_std = args.reciprocal_std.v[row];
    vec2 g_sum = vec2(0), gx_sum = vec2(0);
    for (uint n = 0; n < COUNT; ++n) {
      const vec2 x = (load2(args.x, start, n, mean) - mean) * reciprocal_std;
      const vec2 upstream = load2(args.upstream, start, n, 0);
      const vec2 g = upstream * load2(args.gain, 0, n, 0);
      gain_sums[n] += upstream * x;
      bias_sums[n] += upstream;
      g_sum += g;
      gx_sum += g * x;
      if (HELD == COUNT) {
        held_x[n] = x;
        held_g[n] = g;
      }
    }
    if ((args.outputs & 1) == 0) continue;
    const vec2 means = lanes_sum2(vec2(g_sum.x + g_sum.y, gx_sum.x + gx_sum.y)) / COLUMNS;
    for (uint n = 0; n < COUNT; ++n) {
      vec2 x, g;
      if (HELD == COUNT) {
        x = held_x[n];
        g = held_g[n];
      } else {
        x = (load2(args.x, start, n, mean) - mean) * reciprocal_std;
        g = load2(args.upstream, start, n, 0) * load2(args.gain, 0, n, 0);
      }
      store2(args.dx, start, n, reciprocal_std * (g - means.x - x * means.y));
    }
  }
  if ((args.outputs & 2) == 0) return;
  const uint start = 2 * row_group() * COLUMNS;
  for (uint n = 0; n < COUNT; ++n) {
    store2(args.partial_sums, start, n, gain_sums[n]);
    store2(args.partial_sums, start + COLUMNS, n, bias_sums[n]);
  }
}
