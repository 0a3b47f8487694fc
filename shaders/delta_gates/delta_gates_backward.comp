#version 460
// db = dbeta beta (1 - beta), da = -dg exp(rate) sigmoid(a + offset), and dg g, of which drate is the sum over all rows.
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
  const float beta = sigmoid(args.projected.v[b]), x = args.projected.v[a] + args.offset.v[head];
  const float factor = -exp(args.rate.v[head]) * args.upstream.v[a];
  if ((args.outputs & 1) != 0) {
    args.dprojected.v[b] = args.upstream.v[b] * beta * (1 - beta);
    args.dprojected.v[a] = factor * sigmoid(x);
  }
  if ((args.outputs & 2) != 0) args.drate.v[i] = factor * softplus(x);
}
