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
// y = scale * (x * reciprocal_rms * (gain_offset + gain) + residual) for each row, where
// reciprocal_rms = 1 / sqrt(mean of x^2 + epsilon). May run in place. A workgroup takes rows of one group, of which all
// have the same gain.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/rms_norm/rms_norm.args.h"

layout(constant_id = 4) const bool ADD = false;
layout(constant_id = 5) const bool SCALE = false;

// The residual is sent for with the row, not behind its sum, where there are registers for that.
const bool AHEAD = ADD && COUNT <= 8;

PUSH(RmsNormArgs);

uint group;
vec2 gain[COUNT];

void take_row(uint place) {
  const uint row = place * args.groups + group, start = row * COLUMNS;
  vec2 x[COUNT], squares = vec2(0);
  vec2 residual[AHEAD ? COUNT : 1];
  if (AHEAD)
    [[unroll]] for (uint n = 0; n < COUNT; ++n) residual[n] = load2(args.residual, start, n, whole(n), 0);
  [[unroll]] for (uint n = 0; n < COUNT; ++n) {
    x[n] = load2(args.x, start, n, whole(n), 0);
    squares += x[n] * x[n];
  }
  const float reciprocal_rms = 1 / sqrt(lanes_sum(squares.x + squares.y) / COLUMNS + args.epsilon);

  if ((args.outputs & 1) != 0) {
    const float factor = SCALE ? args.scale.v[0] : 1;
    [[unroll]] for (uint n = 0; n < COUNT; ++n) {
      vec2 y = x[n] * reciprocal_rms * gain[n];
      if (ADD) y += AHEAD ? residual[n] : load2(args.residual, start, n, whole(n), 0);
      if (SCALE) y *= factor;
      store_reals2(args.y, start, n, whole(n), saturated(y, args.most));
    }
  }
  if (lane() == 0 && (args.outputs & 2) != 0) args.reciprocal_rms.v[row] = reciprocal_rms;
}

void main() {
  group = row_group() % args.groups;
  [[unroll]] for (uint n = 0; n < COUNT; ++n)
    gain[n] = args.gain_offset + load2(args.gain, group * COLUMNS, n, whole(n), 0);
  ROW_LOOP_OF(row_group() / args.groups, take_row)
}
