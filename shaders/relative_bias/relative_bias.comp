#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// y[h, t, s] = table[bucket of s - t - position, h]. A row of the workgroup is one query in one head.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/relative_bias/relative_bias.args.h"

PUSH(RelativeBiasArgs);

uint head, target;
int query;

float bias(uint key) {
  const int bucket = BUCKET(args.buckets, int(min(key, COLUMNS - 1)) - query);
  const bool known = bucket >= 0 && bucket < args.buckets.table_rows;
  const float value = args.table.v[(known ? uint(bucket) : 0) * args.heads + head];
  return known ? value : 0;
}

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const uvec2 keys = columns_of(first + k);
    store2(args.y, target, first + k, inside, vec2(bias(keys.x), bias(keys.y)));
  }
}

void take_row(uint row) {
  head = row / args.queries;
  query = int(row % args.queries) + first_query(args.buckets.position, args.buckets.has_position);
  target = row * COLUMNS;
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
