#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// y = softmax(scale * x) over the columns that a row sees, zero elsewhere. The first walk keeps the maximum of what an
// invocation has seen and the sum of exponentials relative to it, rescaled when the maximum grows; the second writes.
// May run in place: an invocation reads only what it overwrites.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/softmax/softmax.args.h"

layout(constant_id = 4) const bool MASK = false;

PUSH(SoftmaxArgs);

// Stands for minus infinity: its differences with itself are 0, not NaN.
const float lowest = -3.402823466e+38;

uint start, mask_start, end;  // the row sees columns below `end`, where the mask lets it
float peak, sum;

bvec2 seen(uint n) {
  const uvec2 column = columns_of(n);
  bvec2 visible = lessThan(column, uvec2(end));
  if (MASK) {
    const uvec2 at = mask_start + min(column, uvec2(COLUMNS - 1));
    visible.x = visible.x && args.mask.v[at.x] != 0;
    visible.y = visible.y && args.mask.v[at.y] != 0;
  }
  return visible;
}

void take(uint first, bool inside) {
  vec2 x[STEP], top = vec2(lowest);
  bvec2 visible[STEP];
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    visible[k] = seen(first + k);
    x[k] = mix(vec2(lowest), args.scale * load2(args.x, start, first + k, inside, 0), visible[k]);
    top = max(top, x[k]);
  }
  const float new_peak = max(peak, max(top.x, top.y));
  vec2 sums = vec2(0);
  [[unroll]] for (uint k = 0; k < STEP; ++k) sums += mix(vec2(0), exp(x[k] - new_peak), visible[k]);
  sum = sum * exp(peak - new_peak) + sums.x + sums.y;
  peak = new_peak;
}

void put(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const vec2 x = args.scale * load2(args.x, start, first + k, inside, 0);
    store2(args.y, start, first + k, inside, mix(vec2(0), exp(x - peak) / sum, seen(first + k)));
  }
}

void take_row(uint row) {
  start = row * COLUMNS;
  const uint t = row % args.queries;
  end = args.causal != 0 ? uint(clamp(int(t + COLUMNS) - int(args.queries) + 1, 0, int(COLUMNS))) : COLUMNS;
  mask_start = row / args.batch_rows * args.mask_batch + t * args.mask_row;
  peak = lowest;
  sum = 0;
  WALK(take)
  // Invocations that have seen nothing hold a sum of 0.
  const float row_peak = lanes_max(peak);
  sum = lanes_sum(sum * exp(peak - row_peak));
  peak = row_peak;
  WALK(put)
}

void main() {
  ROW_LOOP(take_row)
}
