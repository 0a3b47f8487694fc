#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// bias[b, h, t, s] = scale (position_scores[h, b T + t, min(T - t + s, L - 1)] + segment_scores[h, b T + t, differ]).
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/relative_shift/relative_shift.args.h"

layout(constant_id = 4) const bool SEGMENTS = false;

PUSH(RelativeShiftArgs);

uint source, target, shift, ids;
int own;
float same, different;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const uvec2 s = min(columns_of(first + k), uvec2(COLUMNS - 1));
    const uvec2 at = source + min(shift + s, uvec2(args.positions - 1));
    vec2 score = vec2(args.position_scores.v[at.x], args.position_scores.v[at.y]);
    if (SEGMENTS) {
      const ivec2 other = ivec2(args.segments.v[ids + s.x], args.segments.v[ids + s.y]);
      score += mix(vec2(different), vec2(same), equal(other, ivec2(own)));
    }
    store2(args.bias, target, first + k, inside, args.scale * score);
  }
}

void take_row(uint row) {
  const uint t = row % args.queries, outer = row / args.queries;
  const uint h = outer % args.heads, b = outer / args.heads;
  const uint scores = (h * args.batches + b) * args.queries + t;
  source = scores * args.positions;
  target = row * COLUMNS;
  shift = args.queries - t;
  if (SEGMENTS) {
    ids = b * COLUMNS;
    own = args.segments.v[ids + COLUMNS - shift];
    same = args.segment_scores.v[2 * scores];
    different = args.segment_scores.v[2 * scores + 1];
  }
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
