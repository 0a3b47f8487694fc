#version 460
// variant quads: -DQUADS
// variant singles:
// y[n, b, a, :] = x[n, a, b, :], a word at a time, in y's order of memory: for short rows, and for devices that hide
// the latency of many small loads. A word is a vec4 or one float.
#extension GL_GOOGLE_include_directive : require
#include "shaders/swap_axes/swap_axes.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint WIDTH = 1;

PUSH(SwapAxesFlatArgs);

void move(uint source, uint target) {
#ifdef QUADS
  args.y.v[target] = args.x.v[source];
#else
  args.y.v[target / 4][target % 4] = args.x.v[source / 4][source % 4];
#endif
}

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint first = group * args.span, end = min(first + args.span, args.words);
  for (uint i = first + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
    const uint row = i / WIDTH;
    const uint a = row % args.a, outer = row / args.a;
    const uint b = outer % args.b, n = outer / args.b;
    move(((n * args.a + a) * args.b + b) * WIDTH + i % WIDTH, i);
  }
}
