#version 460
// visible[b, t, s] = texts[b, s] = texts[b, t] and not 0, in visible's order of memory.
#extension GL_GOOGLE_include_directive : require
#include "shaders/same_text/same_text.args.h"

layout(local_size_x_id = 0) in;

PUSH(SameTextArgs);

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint first = group * args.span, end = min(first + args.span, args.elements);
  for (uint i = first + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
    const uint s = i % args.positions, row = i / args.positions;
    const int text = args.texts.v[row];
    args.visible.v[i] = text != 0 && args.texts.v[row / args.positions * args.positions + s] == text ? 1 : 0;
  }
}
