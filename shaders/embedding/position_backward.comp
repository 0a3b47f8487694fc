#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// dtable[p] = sum over the batch of upstream[b, p - first - position[b]], zero where that token does not exist.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/embedding/embedding.args.h"

layout(constant_id = 4) const bool EACH_ROW = false;

PUSH(PositionBackwardArgs);

uint batch, place, target;

// The token of row b that is at `place`. Where the place is before its first token, this wraps around to a large number.
uint token_of(uint b) { return place - uint(offset_of(args.position, args.offsets, b)); }

void take(uint first, bool inside) {
  vec2 sums[STEP];
  [[unroll]] for (uint k = 0; k < STEP; ++k) sums[k] = vec2(0);
  uint b = 0, t = token_of(0);
  if (batch > 0) do {
      if (EACH_ROW) t = token_of(b);
      const bool known = t < args.positions;
      const uint start = (b * args.positions + (known ? t : 0)) * COLUMNS;
      [[unroll]] for (uint k = 0; k < STEP; ++k) {
        const vec2 row = load2(args.upstream, start, first + k, inside, 0);
        sums[k] += known ? row : vec2(0);
      }
    } while (++b < batch);
  [[unroll]] for (uint k = 0; k < STEP; ++k) store2(args.dtable, target, first + k, inside, sums[k]);
}

void take_row(uint row) {
  place = row - args.first_position;
  batch = EACH_ROW || token_of(0) < args.positions ? args.batch : 0;
  target = row * COLUMNS;
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
