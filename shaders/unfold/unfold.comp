#version 460
// y[b, t, c * SIZE + j] = x[b, t * stride + j - padding, c], or 0 outside of x: one float an invocation, in y's order
// of memory.
#extension GL_GOOGLE_include_directive : require
#include "shaders/unfold/unfold.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SIZE = 1;

PUSH(UnfoldArgs);

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint i = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i >= args.elements) return;
  const uint width = args.channels * SIZE, row = i / width, column = i % width;
  // Before the first position this is above all of them.
  const uint position = row % args.y_positions * args.stride + column % SIZE - args.padding;
  float value = 0;
  if (position < args.x_positions)
    value = args.source.v[(row / args.y_positions * args.x_positions + position) * args.channels + column / SIZE];
  args.target.v[i] = value;
}
