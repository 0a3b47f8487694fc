#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// dtable[b, h] = sum of the diagonals' sums[d, h] over the relative positions d that have the bucket b.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/relative_bias/relative_bias.args.h"

PUSH(RelativeBiasBackwardArgs);

int bucket, query;

void take(uint first, bool inside) {
  vec2 total[STEP];
  [[unroll]] for (uint k = 0; k < STEP; ++k) total[k] = vec2(0);
  uint d = 0;
  do {
    const bool mine = BUCKET(args.buckets, int(d) - query) == bucket;
    [[unroll]] for (uint k = 0; k < STEP; ++k) {
      const vec2 sum = load2(args.sums, d * COLUMNS, first + k, inside, 0);
      total[k] += mine ? sum : vec2(0);
    }
  } while (++d < args.diagonals);
  [[unroll]] for (uint k = 0; k < STEP; ++k)
    store2(args.dtable, uint(bucket) * COLUMNS, first + k, inside, total[k]);
}

void take_row(uint row) {
  bucket = int(row);
  WALK(take)
}

void main() {
  // Diagonal 0 belongs to the last query and key 0.
  query = int(args.queries) - 1 + first_query(args.buckets.position, args.buckets.has_position);
  ROW_LOOP(take_row)
}
