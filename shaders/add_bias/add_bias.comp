#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant workgroup_f16: -DHALF=1
// variant workgroup_bf16: -DHALF=2
// y[row, :] = x[row, :] + bias. y may be x: each invocation writes only what it has read.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/add_bias/add_bias.args.h"

PUSH(AddBiasArgs);

uint start;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const vec2 x = load_reals2(args.x, start, first + k, inside, 0);
    store_reals2(args.y, start, first + k, inside, x + load2(args.bias, 0, first + k, inside, 0));
  }
}

void take_row(uint row) {
  start = row * COLUMNS;
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
