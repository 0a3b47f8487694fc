#version 460
// cache[b, position + t, :] = source[b, t, :]. A workgroup copies `span` columns of one row.
#extension GL_GOOGLE_include_directive : require
#include "shaders/cache_write/cache_write.args.h"
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 1) const int span = 512;

PUSH(CacheWriteArgs);

void main() {
  const int t = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int position = args.position.v[0];
  if (position < -t || position >= args.keys - t) return;
  const int from = (batch * args.queries + t) * args.stride;
  const int to = (batch * args.keys + position + t) * args.columns;
  const int begin = int(gl_WorkGroupID.x) * span;
  const int end = min(begin + span, args.columns);
  for (int c = begin + int(gl_LocalInvocationID.x); c < end; c += int(gl_WorkGroupSize.x))
    args.cache.v[to + c] = args.source.v[from + c];
}
