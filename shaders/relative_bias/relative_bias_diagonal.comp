#version 460
// sums[d, h] = sum of upstream[h, t, t + d - (T - 1)] over the queries t: all entries of one relative position. An
// invocation takes one diagonal, so that neighbours read neighbours. Workgroups of one head follow each other.
#extension GL_GOOGLE_include_directive : require
#include "shaders/relative_bias/relative_bias.args.h"

layout(local_size_x_id = 0) in;

PUSH(RelativeBiasDiagonalArgs);

void main() {
  const int queries = int(args.queries), keys = int(args.keys);
  // Diagonals count from the last query's first key.
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, head = group / args.groups_per_head;
  if (head >= args.heads) return;
  const int first = int(group % args.groups_per_head * gl_WorkGroupSize.x) - (queries - 1);
  const int relative = first + int(gl_LocalInvocationID.x);
  // The queries that some diagonal of this workgroup crosses.
  int query = max(0, 1 - first - int(gl_WorkGroupSize.x));
  const int end = min(queries, keys - first);
  float sum = 0;
  do {
    const int key = query + relative;
    const uint row = min(head, args.heads - 1) * args.queries + uint(min(query, queries - 1));
    const float value = args.upstream.v[row * args.keys + uint(clamp(key, 0, keys - 1))];
    sum += key >= 0 && key < keys ? value : 0;
  } while (++query < end);
  if (relative < keys) args.sums.v[uint(relative + queries - 1) * args.heads + head] = sum;
}
