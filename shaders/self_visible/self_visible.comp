#version 460
// visible[b, t, s] = mask[b, s] != 0 or s = t, in visible's order of memory.
#extension GL_GOOGLE_include_directive : require
#include "shaders/self_visible/self_visible.args.h"

layout(local_size_x_id = 0) in;

PUSH(SelfVisibleArgs);

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint first = group * args.span, end = min(first + args.span, args.elements);
  for (uint i = first + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
    const uint s = i % args.positions, row = i / args.positions;
    const uint t = row % args.positions, b = row / args.positions;
    args.visible.v[i] = s == t || args.mask.v[b * args.positions + s] != 0 ? 1 : 0;
  }
}
