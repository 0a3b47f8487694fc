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
// y = (x - mean) * reciprocal_std * gain + bias for each row. The variance is summed from deviations in a second pass,
// so a large mean costs no accuracy. May run in place.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/layer_norm/layer_norm.args.h"

layout(constant_id = 4) const bool BIAS = false;

PUSH(LayerNormArgs);

vec2 gain[COUNT], bias[COUNT];

void take_row(uint row) {
  const uint start = row * COLUMNS;
  vec2 x[COUNT], sum = vec2(0);
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    x[n] = load2(args.x, start, n, whole(n), 0);
    sum += x[n];
  }
  const float mean = lanes_sum(sum.x + sum.y) / COLUMNS;

  vec2 squares = vec2(0);
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    x[n] -= mean;
    squares += whole(n) ? x[n] * x[n] : mix(vec2(0), x[n] * x[n], lessThan(columns_of(n), uvec2(COLUMNS)));
  }
  const float variance = lanes_sum(squares.x + squares.y) / COLUMNS;
  const float reciprocal_std = 1 / sqrt(variance + args.epsilon);

  if ((args.outputs & 1) != 0) {
    [[unroll]] for (uint n = 0; n < COUNT; ++n) {
      vec2 y = x[n] * reciprocal_std * gain[n];
      if (BIAS) y += bias[n];
      store_reals2(args.y, start, n, whole(n), saturated(y, args.most));
    }
  }
  if (lane() == 0) {
    if ((args.outputs & 2) != 0) args.mean.v[row] = mean;
    if ((args.outputs & 4) != 0) args.reciprocal_std.v[row] = reciprocal_std;
  }
}

void main() {
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    gain[n] = load2(args.gain, 0, n, whole(n), 0);
    if (BIAS) bias[n] = load2(args.bias, 0, n, whole(n), 0);
  }
  ROW_LOOP(take_row)
}
