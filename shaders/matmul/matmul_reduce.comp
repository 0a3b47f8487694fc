#version 460
// Adds the partial sums that a product with splits > 1 left in the workspace, in order, and finishes them.
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ACTIVATION = 0;

PUSH(MatmulArgs);
#include "shaders/matmul/epilogue.glsl"

// `a` is the workspace, [splits, batch, M, N].
void main() {
  const uint elements = args.batch * args.m * args.n;
  const uint index = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
                     gl_LocalInvocationID.x;
  if (index >= elements) return;
  float sum = 0;
  for (uint split = 0; split < args.splits; split++) sum += args.a.v[split * elements + index];
  store_finished(index, args.scale * sum + bias_of(index % args.n));
}
