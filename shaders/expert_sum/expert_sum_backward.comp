#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// For each slot of a row, dx = weight * upstream and dweight = sum of upstream x.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/expert_sum/expert_sum.args.h"

layout(constant_id = 4) const bool WEIGHTED = true;

PUSH(ExpertSumBackwardArgs);

uint source, start;
float weight;
vec2 sum;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const vec2 upstream = load2(args.upstream, source, first + k, inside, 0);
    if (WEIGHTED) sum += upstream * load2(args.x, start, first + k, inside, 0);
    if ((args.outputs & 1) != 0) store2(args.dx, start, first + k, inside, weight * upstream);
  }
}

void take_row(uint row) {
  source = row / args.slots * COLUMNS;
  start = row * COLUMNS;
  weight = WEIGHTED ? args.weights.v[row] : 1.0;
  sum = vec2(0);
  WALK(take)
  if (!WEIGHTED) return;
  const float total = lanes_sum(sum.x + sum.y);
  if (lane() == 0 && (args.outputs & 2) != 0) args.dweights.v[row] = total;
}

void main() { ROW_LOOP(take_row) }
