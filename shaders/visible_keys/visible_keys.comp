#version 460
// visible[b, t, s] by a MaskRule of visible_keys.h, in visible's order of memory.
#extension GL_GOOGLE_include_directive : require
#include "shaders/visible_keys/visible_keys.args.h"

layout(local_size_x_id = 0) in;

PUSH(VisibleKeysArgs);

bool sees(int query, int key, bool self) {
  if (args.rule == 0) return key != 0 && key == query;
  if (args.rule == 1) return key != 0 || self;
  return key < 0 || key < query || (args.rule == 3 && self);
}

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint first = group * args.span, end = min(first + args.span, args.elements);
  for (uint i = first + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
    const uint s = i % args.positions, row = i / args.positions;
    const uint first_of_batch = row / args.positions * args.positions;
    const int query = args.numbers.v[row], key = args.numbers.v[first_of_batch + s];
    args.visible.v[i] = sees(query, key, first_of_batch + s == row) ? 1 : 0;
  }
}
