#version 460
// variant subgroup: -DSUBGROUP
// variant subgroup_int64: -DSUBGROUP -DINT64
// variant workgroup:
// variant workgroup_int64: -DINT64
// dsegment_scores[h, b T + t, :] = scale times the sums of dbias[b, h, t, s] over the keys s of the query's segment and
// over the others.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/relative_shift/relative_shift.args.h"

PUSH(RelativeShiftArgs);

uint source, ids;
int own;
vec2 sums;

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const uvec2 s = min(columns_of(first + k), uvec2(COLUMNS - 1));
    const vec2 upstream = load2(args.bias, source, first + k, inside, 0);
    const bvec2 same = equal(ivec2(args.segments.v[ids + s.x], args.segments.v[ids + s.y]), ivec2(own));
    const vec2 in_segment = mix(vec2(0), upstream, same), outside = mix(upstream, vec2(0), same);
    sums += vec2(in_segment.x + in_segment.y, outside.x + outside.y);
  }
}

void take_row(uint row) {
  const uint t = row % args.queries, outer = row / args.queries;
  const uint h = outer % args.heads, b = outer / args.heads;
  source = row * COLUMNS;
  ids = b * COLUMNS;
  own = args.segments.v[ids + COLUMNS - args.queries + t];
  sums = vec2(0);
  WALK(take)
  const vec2 total = args.scale * lanes_sum2(sums);
  const uint target = 2 * ((h * args.batches + b) * args.queries + t);
  if (lane() < 2) args.segment_scores.v[target + lane()] = total[lane()];
}

void main() { ROW_LOOP(take_row) }
