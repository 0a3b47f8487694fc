#version 460
// variant quads:
// variant words: -DWORDS
// Copies the first `count` positions of each row of the batch that comes from another row. The first launch gathers
// them aside, the second one puts them back.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/cache_reorder/cache_reorder.args.h"

layout(constant_id = 1) const bool ALIGNED = false;

PUSH(CacheReorderArgs);

void copy(uint from, uint to, bool whole) { store(args.target, to, whole, load(args.source, from, whole)); }

void main() {
  const uint group = stream_group(), b = group / args.chunks, chunk = group % args.chunks;
  const int origin = clamp(args.rows.v[min(b, uint(args.batches - 1))], 0, args.batches - 1);
  if (b >= args.batches || origin == int(b)) return;
  const uint width = ALIGNED ? 4 : 1, stride = uint(args.keys) * args.columns;
  const uint count = uint(clamp(args.count.v[0], 0, args.keys)) * args.columns;
  const uint from = (args.gather != 0 ? uint(origin) : b) * stride, to = b * stride;
  const uint first = chunk * args.span, end = min(first + args.span, count / width);
  for (uint i = first + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x)
    copy(from / width + i, to / width + i, ALIGNED);
  const uint rest = count / width * width + gl_LocalInvocationID.x;
  if (chunk == 0 && rest < count) copy(from + rest, to + rest, false);
}
