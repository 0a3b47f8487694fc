#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// y[n, b, a, :] = x[n, a, b, :], a row of D columns at a time.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/swap_axes/swap_axes.args.h"

PUSH(SwapAxesArgs);

uint source, target;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k)
    store2(args.y, target, first + k, inside, load2(args.x, source, first + k, inside, 0));
}

void take_row(uint row) {
  const uint a = row % args.a, outer = row / args.a;
  const uint b = outer % args.b, n = outer / args.b;
  source = ((n * args.a + a) * args.b + b) * COLUMNS;
  target = row * COLUMNS;
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
