#version 460
// variant f32:
// variant f16_y: -DHALF=1 -DY_HALF
// variant bf16_y: -DHALF=2 -DY_HALF
// Adds the partial sums that a product with splits > 1 left in the workspace, in order, and finishes them.
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 1) const bool QUADS = false;  // rows of y, and so of the sums, start at whole quads

PUSH(MatmulArgs);
#include "shaders/matmul/epilogue.glsl"

float sum_of(uint index) {
  const uint elements = args.batch * args.m * args.n;
  float sum = 0;
  for (uint split = 0; split < args.splits; split++) sum += args.a.v[split * elements + index];
  return args.scale * sum + bias_of(index % args.n);
}

// Several ranges are sent for before one is waited for.
const uint UNDER_WAY = 4;

vec4 sum_of_quad(uint index) {
  const uint elements = args.batch * args.m * args.n;
  vec4 sum = vec4(0);
  [[dont_unroll]] for (uint split = 0; split < args.splits; split += UNDER_WAY) {
    vec4 parts[UNDER_WAY];
    [[unroll]] for (uint i = 0; i < UNDER_WAY; i++)
      parts[i] = args.a_quads.v[(min(split + i, args.splits - 1) * elements + index) / 4];
    [[unroll]] for (uint i = 0; i < UNDER_WAY; i++)
      if (split + i < args.splits) sum += parts[i];
  }
  return args.scale * sum + bias_quad(index % args.n);
}

void finish_quad(uint index) {
  vec4 quad = sum_of_quad(index);
  if (ACTIVATION != activation_none) {
    store_finished_quad(index, quad, 4, false);
    return;
  }
  if ((args.flags & MATMUL_RESIDUAL) != 0) quad += values_of(args.residual_quads.v[index / 4]);
  args.y_quads.v[index / 4] = stored(quad);
}

// `a` is the workspace, [splits, batch, M, N].
void main() {
  const uint elements = args.batch * args.m * args.n;
  const uint id = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
                  gl_LocalInvocationID.x;
  if (QUADS) {
    if (4 * id < elements) finish_quad(4 * id);
    return;
  }
#ifdef Y_HALF
  const uint index = 2 * id;  // of a word
  if (index < elements) store_finished_quad(index, vec4(sum_of(index), sum_of(index + 1), 0, 0), 2, false);
#else
  if (id < elements) store_finished(id, sum_of(id));
#endif
}
