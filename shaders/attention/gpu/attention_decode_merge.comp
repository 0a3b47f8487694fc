#version 460
// Joins the partial results of attention_decode, in order: one workgroup a query of one head.
#extension GL_GOOGLE_include_directive : require
#include "shaders/attention/attention.args.h"
#include "shaders/attention/row_sum.glsl"
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = ATTENTION_VALUE_WIDTH) const int value_width = 64;
layout(constant_id = ATTENTION_WANTED) const uint wanted = 3;

PUSH(AttentionMergeArgs);

void main() {
  const int t = int(gl_WorkGroupID.x);
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int row = (batch * args.heads + head) * args.queries + t;
  float maximum = args.sums.v[2 * row * args.part_count];
  for (int n = 1; n < args.part_count; n++) maximum = max(maximum, args.sums.v[2 * (row * args.part_count + n)]);
  float sum = 0;
  for (int n = 0; n < args.part_count; n++) {
    const int part = row * args.part_count + n;
    sum += args.sums.v[2 * part + 1] * exp(args.sums.v[2 * part] - maximum);
  }
  if ((wanted & 2u) != 0 && gl_LocalInvocationIndex == 0) args.log_sum_exp.v[row] = log_sum_exp_of(maximum, sum);
  if ((wanted & 1u) == 0) return;
  const int at = ((batch * args.queries + t) * args.heads + head) * value_width;
  const float normalise = reciprocal_of(sum);
  for (int c = int(gl_LocalInvocationIndex); c < value_width; c += int(gl_WorkGroupSize.x)) {
    float value = 0;
    for (int n = 0; n < args.part_count; n++) {
      const int part = row * args.part_count + n;
      value += args.parts.v[part * value_width + c] * exp(args.sums.v[2 * part] - maximum);
    }
    args.result.v[at + c] = value * normalise;
  }
}
