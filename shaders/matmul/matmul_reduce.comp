#version 460
// variant f32:
// variant f16_y: -DHALF=1 -DY_HALF
// variant bf16_y: -DHALF=2 -DY_HALF
// Adds the partial sums that a product with splits > 1 left in the workspace, in order, and finishes them.
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ACTIVATION = 0;

PUSH(MatmulArgs);
#include "shaders/matmul/epilogue.glsl"

float sum_of(uint index) {
  const uint elements = args.batch * args.m * args.n;
  float sum = 0;
  for (uint split = 0; split < args.splits; split++) sum += args.a.v[split * elements + index];
  return args.scale * sum + bias_of(index % args.n);
}

// `a` is the workspace, [splits, batch, M, N].
void main() {
  const uint elements = args.batch * args.m * args.n;
  const uint id = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
                  gl_LocalInvocationID.x;
#ifdef Y_HALF
  const uint index = 2 * id;  // of a word
  if (index < elements) store_finished_quad(index, vec4(sum_of(index), sum_of(index + 1), 0, 0), 2, false);
#else
  if (id < elements) store_finished(id, sum_of(id));
#endif
}
