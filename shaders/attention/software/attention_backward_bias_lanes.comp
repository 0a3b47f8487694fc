#version 460
// Gradient of the bias for CPU-type drivers: lane = key. One workgroup (one subgroup) computes `query_block` queries of
// one head, each with a vector of keys; where all batches have one bias, it adds theirs up, in order.
// variant f32:
// variant u64: -DPAIRS
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBiasBackwardArgs
#include "shaders/attention/software/attention_lanes.glsl"
const int query_block = 8;

void main() {
  const int key_blocks = (args.source.keys + lanes - 1) / lanes;
  const int query_blocks = (args.source.queries + query_block - 1) / query_block;
  int index = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
  const int first_key = index % key_blocks * lanes;
  index /= key_blocks;
  const int first = index % query_blocks * query_block;
  index /= query_blocks;
  const int head = index % args.source.heads;
  const int target_batch = index / args.source.heads;
  if (target_batch >= (rule(ATTENTION_BIAS_OF_BATCH) ? args.batches : 1)) return;
  const int key = first_key + int(gl_SubgroupInvocationID);
  const int shift = visible_shift();

  float sum[query_block];
  [[unroll]] for (int i = 0; i < query_block; i++) sum[i] = 0;
  const bool any_visible = first_key < key_end(shift, min(first + query_block, args.source.queries) - 1) &&
                           first_key + lanes > key_begin(shift, first);
  const int batch_end = !any_visible ? 0 : rule(ATTENTION_BIAS_OF_BATCH) ? target_batch + 1 : args.batches;
  for (int batch = target_batch; batch < batch_end; batch++) {
    const int key_row = batch * args.source.keys + min(key, args.source.keys - 1);
    const int key_at = key_row * args.source.k_stride + head / group() * head_width;
    const int value_at = key_row * args.source.v_stride + head / group() * value_width;
    ELEMENT q[query_block][key_vectors];
    ELEMENT up[query_block][value_vectors];
    float score[query_block];
    float slope[query_block];
    [[unroll]] for (int i = 0; i < query_block; i++) {
      const int query_row = batch * args.source.queries + min(first + i, args.source.queries - 1);
      const int at = query_row * args.source.q_stride + head * head_width;
      const int up_at = (query_row * args.source.heads + head) * value_width;
      [[unroll]] for (int n = 0; n < key_vectors; n++)
        q[i][n] = row_vector(ELEMENTS(args.source.q), at, n, key_elements) * args.source.scale;
      [[unroll]] for (int n = 0; n < value_vectors; n++)
        up[i][n] = row_vector(ELEMENTS(args.upstream), up_at, n, value_elements);
      score[i] = slope[i] = 0;
    }
    [[unroll]] for (int n = 0; n < key_elements; n++) {
      const ELEMENT k = load_element(ELEMENTS(args.source.k), key_at / per_element + n);
      [[unroll]] for (int i = 0; i < query_block; i++)
        [[unroll]] for (int c = 0; c < per_element; c++)
          score[i] += SPREAD(q[i], n * per_element + c) * component(k, c);
    }
    [[unroll]] for (int n = 0; n < value_elements; n++) {
      const ELEMENT v = load_element(ELEMENTS(args.source.v), value_at / per_element + n);
      [[unroll]] for (int i = 0; i < query_block; i++)
        [[unroll]] for (int c = 0; c < per_element; c++)
          slope[i] += SPREAD(up[i], n * per_element + c) * component(v, c);
    }
    [[unroll]] for (int i = 0; i < query_block; i++) {
      const int t = min(first + i, args.source.queries - 1);
      const int row = (batch * args.source.heads + head) * args.source.queries + t;
      const bool seen = visible(batch, t, key, shift, key_end(shift, t));
      const float value = score_of(score[i], batch, head, t, key);
      const float weight = seen ? exp(value - args.terms.v[2 * row]) : 0;
      const float keep = has_dropout ? kept_one(row, key) : 1;
      sum[i] += weight * ((has_dropout ? slope[i] * keep : slope[i]) - args.terms.v[2 * row + 1]);
    }
  }

  if (key < args.source.keys) {
    const int row = (target_batch * args.source.heads + head) * args.source.queries + first;
    [[unroll]] for (int i = 0; i < query_block; i++)
      if (first + i < args.source.queries) args.target.v[(row + i) * args.source.keys + key] = sum[i];
  }
}
