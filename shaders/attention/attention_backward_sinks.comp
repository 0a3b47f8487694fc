#version 460
// Gradient of the sinks: a row's sink takes exp(sink - log_sum_exp) of its weights, of a value of zeros, so its score has
// the gradient -exp(sink - log_sum_exp) * delta. One workgroup a head.
#extension GL_GOOGLE_include_directive : require
#include "shaders/attention/attention.args.h"
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;

PUSH(AttentionSinksBackwardArgs);

const int threads = 128;
shared float sums[threads];

void main() {
  const int id = int(gl_LocalInvocationIndex);
  const int head = int(gl_WorkGroupID.x);
  const float sink = args.sinks.v[head];
  float sum = 0;
  for (int i = id; i < args.batches * args.queries; i += threads) {
    const int row = (i / args.queries * args.heads + head) * args.queries + i % args.queries;
    sum -= exp(sink - args.terms.v[2 * row]) * args.terms.v[2 * row + 1];
  }
  sums[id] = sum;
  barrier();
  for (int n = threads / 2; n > 0; n /= 2) {
    if (id < n) sums[id] += sums[id + n];
    barrier();
  }
  if (id == 0) args.target.v[head] = sums[0];
}
