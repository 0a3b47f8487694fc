#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// y = (x - mean) * reciprocal_std * gain + bias for each row. The variance is summed from deviations in a second pass,
// so a large mean costs no accuracy. May run in place.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/layer_norm/layer_norm.args.h"

layout(constant_id = 4) const uint HELD = 1;
layout(constant_id = 5) const bool BIAS = false;

PUSH(LayerNormArgs);

vec2 held[HELD];

vec2 x_pair(uint start, uint n, float fill) {
  if (HELD != COUNT) return load2(args.x, start, n, fill);
  return whole(n) ? held[n] : mix(vec2(fill), held[n], lessThan(columns_of(n), uvec2(COLUMNS)));
}

void main() {
  const uint end = min(first_row() + ROWS, args.rows);
  for (uint row = first_row(); row < end; ++row) {
    const uint start = row * COLUMNS;
    vec2 sum = vec2(0);
    for (uint n = 0; n < COUNT; ++n) {
      const vec2 x = load2(args.x, start, n, 0);
      if (HELD == COUNT) held[n] = x;
      sum += x;
    }
    const float mean = lanes_sum(sum.x + sum.y) / COLUMNS;

    vec2 squares = vec2(0);
    for (uint n = 0; n < COUNT; ++n) {
      const vec2 deviation = x_pair(start, n, mean) - mean;
      squares += deviation * deviation;
    }
    const float variance = lanes_sum(squares.x + squares.y) / COLUMNS;
    const float reciprocal_std = 1 / sqrt(variance + args.epsilon);

    if ((args.outputs & 1) != 0) {
      for (uint n = 0; n < COUNT; ++n) {
        vec2 y = (x_pair(start, n, mean) - mean) * reciprocal_std * load2(args.gain, 0, n, 0);
        if (BIAS) y += load2(args.bias, 0, n, 0);
        store2(args.y, start, n, y);
      }
    }
    if (lane() == 0) {
      if ((args.outputs & 2) != 0) args.mean.v[row] = mean;
      if ((args.outputs & 4) != 0) args.reciprocal_std.v[row] = reciprocal_std;
    }
  }
}
