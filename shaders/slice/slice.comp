#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// Copies rows of COLUMNS floats from one matrix into another whose rows are longer or shorter, each once or more.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/slice/slice.args.h"

PUSH(SliceArgs);

uint source, target;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k)
    store2(args.target, target, first + k, inside, load2(args.source, source, first + k, inside, 0));
}

void take_row(uint row) {
  source = row / args.repeat * args.source_stride;
  target = row * args.target_stride;
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
