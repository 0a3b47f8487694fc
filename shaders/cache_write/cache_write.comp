#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// cache[b, position + t, :] = source[b, t, :], word by word; of 16-bit caches a word is two columns, rounded. A workgroup
// writes `span` words of one row.
#extension GL_GOOGLE_include_directive : require
#include "shaders/cache_write/cache_write.args.h"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 1) const int span = 512;

PUSH(CacheWriteArgs);

void main() {
  const int t = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int position = args.position.v[min(batch, args.positions - 1)];
  if (position < -t || position >= args.keys - t) return;
  const int from = (batch * args.queries + t) * args.stride;
  const int to = (batch * args.keys + position + t) * args.words;
  const int begin = int(gl_WorkGroupID.x) * span;
  const int end = min(begin + span, args.words);
  for (int w = begin + int(gl_LocalInvocationID.x); w < end; w += int(gl_WorkGroupSize.x)) {
#ifdef HALF
    const vec2 pair = vec2(args.source.v[from + 2 * w], args.source.v[from + 2 * w + 1]);
    args.cache.v[to + w] = pack_halves(within_half(pair));
#else
    args.cache.v[to + w] = args.source.v[from + w];
#endif
  }
}
