#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// dposition_scores[h, b T + t, l] = scale times the sum of dbias[b, h, t, s] over the s with min(T - t + s, L - 1) = l:
// at most one, but for the last column.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/relative_shift/relative_shift.args.h"

layout(constant_id = 4) const bool SHARED = false;

PUSH(RelativeShiftArgs);

uint source, target, shift;
float last;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const uvec2 l = columns_of(first + k);
    const uvec2 s = l - shift;  // wraps around to a large number before the first key
    const uvec2 at = source + min(s, uvec2(args.keys - 1));
    vec2 sum = mix(vec2(0), vec2(args.bias.v[at.x], args.bias.v[at.y]), lessThan(s, uvec2(args.keys)));
    if (SHARED) sum = mix(sum, vec2(last), equal(l, uvec2(COLUMNS - 1)));
    store2(args.position_scores, target, first + k, inside, args.scale * sum);
  }
}

void take_row(uint row) {
  const uint t = row % args.queries, outer = row / args.queries;
  const uint b = outer % args.batches, h = outer / args.batches;
  source = ((b * args.heads + h) * args.queries + t) * args.keys;
  target = row * COLUMNS;
  shift = args.queries - t;
  if (SHARED) {
    last = 0;
    for (uint s = max(COLUMNS - 1, shift) - shift; s < args.keys; ++s)
      last += args.bias.v[source + min(s, args.keys - 1)];
  }
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
