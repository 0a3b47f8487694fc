#version 460
// db = dbeta beta (1 - beta), da = -dg exp(rate) sigmoid(a + offset), of steps with dbeta in the sum; and dg g, of which
// drate is the sum over all rows.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/activation.glsl"
#include "shaders/delta_gates/delta_gates.args.h"
#include "shaders/delta_gates/softplus.glsl"

layout(local_size_x_id = 0) in;

PUSH(DeltaGatesBackwardArgs);

void main() {
  const uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (i >= args.elements) return;
  const uint head = i % args.heads, b = i / args.heads * 2 * args.heads + head, a = b + args.heads;
  const bool steps = args.steps != 0;
  const float x = args.projected.v[steps ? i : a] + args.offset.v[head];
  const float factor = -exp(args.rate.v[head]) * args.upstream.v[a];
  if ((args.outputs & 1) != 0) {
    if (steps) {
      args.dprojected.v[i] = (args.upstream.v[b] + factor) * sigmoid(x);
    } else {
      args.dprojected.v[b] = args.upstream.v[b] * sigmoid_derivative(args.projected.v[b]);
      args.dprojected.v[a] = factor * sigmoid(x);
    }
  }
  if ((args.outputs & 2) != 0) args.drate.v[i] = factor * softplus(x);
}
