#version 460
// beta and g of one head at one position.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/activation.glsl"
#include "shaders/delta_gates/delta_gates.args.h"
#include "shaders/delta_gates/softplus.glsl"

layout(local_size_x_id = 0) in;

PUSH(DeltaGatesArgs);

void main() {
  const uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i >= args.elements) return;
  const uint head = i % args.heads, b = i / args.heads * 2 * args.heads + head, a = b + args.heads;
  const float step = softplus(args.projected.v[args.steps != 0 ? i : a] + args.offset.v[head]);
  args.gates.v[b] = args.steps != 0 ? step : sigmoid(args.projected.v[b]);
  args.gates.v[a] = -exp(args.rate.v[head]) * step;
}
