#version 460
// shifted[b, t] = ids[b, t - 1], or first at t = 0.
#extension GL_GOOGLE_include_directive : require
#include "shaders/shift_right/shift_right.args.h"

layout(local_size_x_id = 0) in;

PUSH(ShiftRightArgs);

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint i = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i < args.elements) args.shifted.v[i] = i % args.positions == 0 ? args.first : args.ids.v[i - 1];
}
