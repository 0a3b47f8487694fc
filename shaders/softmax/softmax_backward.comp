#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// dx = scale * y * (upstream - sum of y * upstream) for each row. What a row does not see has y = 0 and gets 0. May
// overwrite upstream: an invocation reads only what it overwrites.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/softmax/softmax.args.h"

PUSH(SoftmaxBackwardArgs);

uint start;
float dot_product;

void take(uint first, bool inside) {
  vec2 sums = vec2(0);
  [[unroll]] for (uint k = 0; k < STEP; ++k)
    sums += load2(args.y, start, first + k, inside, 0) * load2(args.upstream, start, first + k, inside, 0);
  dot_product += sums.x + sums.y;
}

void put(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const vec2 upstream = load2(args.upstream, start, first + k, inside, 0);
    const vec2 y = load2(args.y, start, first + k, inside, 0);
    store2(args.dx, start, first + k, inside, args.scale * y * (upstream - dot_product));
  }
}

void take_row(uint row) {
  start = row * COLUMNS;
  dot_product = 0;
  WALK(take)
  dot_product = lanes_sum(dot_product);
  WALK(put)
}

void main() {
  ROW_LOOP(take_row)
}
