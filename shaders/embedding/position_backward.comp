#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// dtable[p] = sum over the batch of upstream[b, p - position], zero where that token does not exist.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/embedding/embedding.args.h"

PUSH(PositionBackwardArgs);

int offset;
uint batch, source, target;

void take(uint first, bool inside) {
  vec2 sums[STEP];
  [[unroll]] for (uint k = 0; k < STEP; ++k) sums[k] = vec2(0);
  uint b = 0;
  if (batch > 0) do {
      const uint start = source + b * args.positions * COLUMNS;
      [[unroll]] for (uint k = 0; k < STEP; ++k) sums[k] += load2(args.upstream, start, first + k, inside, 0);
    } while (++b < batch);
  [[unroll]] for (uint k = 0; k < STEP; ++k) store2(args.dtable, target, first + k, inside, sums[k]);
}

void take_row(uint row) {
  const uint t = row - uint(offset);  // wraps around to a large number below the offset
  batch = t < args.positions ? args.batch : 0;
  source = t * COLUMNS;
  target = row * COLUMNS;
  WALK(take)
}

void main() {
  offset = args.has_offset != 0 ? args.position.v[0] : 0;
  ROW_LOOP(args.position_rows, take_row)
}
