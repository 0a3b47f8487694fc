#version 460
// The gradient of x: what all windows that have a position add to it, the last window first.
#extension GL_GOOGLE_include_directive : require
#include "shaders/unfold/unfold.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint SIZE = 1;

PUSH(UnfoldArgs);

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint i = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i >= args.elements) return;
  const uint row = i / args.channels, channel = i % args.channels;
  const uint batch = row / args.x_positions, behind = row % args.x_positions + args.padding;
  float sum = 0;
  for (uint j = 0; j < SIZE; ++j) {
    const uint start = behind - j;  // of the window whose j-th position it is, by positions of the padded x
    if (j > behind || start % args.stride != 0 || start / args.stride >= args.y_positions) continue;
    const uint window = batch * args.y_positions + start / args.stride;
    sum += args.source.v[(window * args.channels + channel) * SIZE + j];
  }
  args.target.v[i] = sum;
}
