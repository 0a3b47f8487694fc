#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// y = residual + sum over the slots of weights x, in their order.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/expert_sum/expert_sum.args.h"

layout(constant_id = 4) const bool WEIGHTED = true;
layout(constant_id = 5) const bool ADD = false;

PUSH(ExpertSumArgs);

uint first_slot, target;

void take(uint first, bool inside) {
  vec2 sums[STEP];
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    sums[k] = ADD ? load2(args.residual, target, first + k, inside, 0) : vec2(0);
  }
  uint slot = 0;
  do {
    const float weight = WEIGHTED ? args.weights.v[first_slot + slot] : 1.0;
    const uint start = (first_slot + slot) * COLUMNS;
    [[unroll]] for (uint k = 0; k < STEP; ++k) sums[k] += weight * load2(args.x, start, first + k, inside, 0);
  } while (++slot < args.slots);
  [[unroll]] for (uint k = 0; k < STEP; ++k) store2(args.y, target, first + k, inside, sums[k]);
}

void take_row(uint row) {
  first_slot = row * args.slots;
  target = row * COLUMNS;
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
