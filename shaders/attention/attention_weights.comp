#version 460
// The weights [B, H, T, S] that attention never stores, computed again from log_sum_exp; one invocation each. For
// inspection and verification: it reads every key once a query.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionWeightsArgs
#include "shaders/attention/attention.glsl"

void main() {
  const uint group_index = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint element = group_index * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
  if (element >= args.elements) return;
  const int s = int(element) % args.source.keys;
  const int row = int(element) / args.source.keys;
  const int t = row % args.source.queries;
  const int head = row / args.source.queries % args.source.heads;
  const int batch = row / args.source.queries / args.source.heads;
  const int q_at = (batch * args.source.queries + t) * args.source.q_stride + head * head_width;
  const int k_at = (batch * args.source.keys + s) * args.source.k_stride + head / group() * head_width;
  float score = 0;
  for (int c = 0; c < head_width; c++) score += args.source.q.v[q_at + c] * args.source.k.v[k_at + c];
  const int shift = visible_shift(batch);
  const bool seen = visible(batch, t, s, shift, key_end(shift, t));
  score = score_of(score * args.source.scale, batch, head, t, s);
  args.weights.v[element] = seen ? exp(score - args.log_sum_exp.v[row]) : 0;
}
