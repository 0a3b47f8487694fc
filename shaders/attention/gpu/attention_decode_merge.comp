#version 460
// Joins the partial results of attention_decode, in order: one workgroup a query of one head.
#extension GL_GOOGLE_include_directive : require
#include "shaders/attention/attention.args.h"
#include "shaders/attention/row_sum.glsl"
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = ATTENTION_VALUE_WIDTH) const int value_width = 64;
layout(constant_id = ATTENTION_WANTED) const uint wanted = 3;
layout(constant_id = ATTENTION_SINKS) const bool has_sinks = false;

PUSH(AttentionMergeArgs);

const int unroll = 4;  // results under way
shared float shares[ATTENTION_MOST_PARTS];  // of the parts: maxima, then factors
shared float totals[ATTENTION_MOST_PARTS];

int first_part;
float loaded[unroll];
void load_results(int first, int c) {
  [[unroll]] for (int i = 0; i < unroll; i++)
    loaded[i] = args.parts.v[(first_part + min(first + i, args.part_count - 1)) * value_width + c];
}

void main() {
  const int id = int(gl_LocalInvocationIndex);
  const int t = int(gl_WorkGroupID.x);
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int row = (batch * args.heads + head) * args.queries + t;
  first_part = row * args.part_count;
  load_results(0, min(id, value_width - 1));  // they travel with the sums
  for (int n = id; n < args.part_count; n += int(gl_WorkGroupSize.x)) {
    shares[n] = args.sums.v[2 * (first_part + n)];
    totals[n] = args.sums.v[2 * (first_part + n) + 1];
  }
  barrier();
  float maximum = shares[0];
  for (int n = 1; n < args.part_count; n++) maximum = max(maximum, shares[n]);
  barrier();
  for (int n = id; n < args.part_count; n += int(gl_WorkGroupSize.x)) shares[n] = exp(shares[n] - maximum);
  barrier();
  float sum = 0;
  for (int n = 0; n < args.part_count; n++) sum += totals[n] * shares[n];
  float normalise = 1;
  if (has_sinks) normalise = add_sink(args.sinks.v[head], maximum, sum);
  normalise *= reciprocal_of(sum);
  if ((wanted & 2u) != 0 && id == 0) args.log_sum_exp.v[row] = log_sum_exp_of(maximum, sum);
  if ((wanted & 1u) == 0) return;
  const int at = ((batch * args.queries + t) * args.heads + head) * value_width;
  for (int c = id; c < value_width; c += int(gl_WorkGroupSize.x)) {
    float value = 0;
    for (int first = 0; first < args.part_count; first += unroll) {
      if (first + c > id) load_results(first, c);  // all but the first ones
      [[unroll]] for (int i = 0; i < unroll; i++)
        if (first + i < args.part_count) value += loaded[i] * shares[first + i];
    }
    args.result.v[at + c] = value * normalise;
  }
}
