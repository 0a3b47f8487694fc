#version 460
// Gradient of the bias for GPUs: one workgroup computes 32 queries of one head, each with 32 keys; where all batches
// have one bias, it adds theirs up, in order.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBiasBackwardArgs
#include "shaders/attention/gpu/attention_tiled.glsl"

void main() {
  const int key_blocks = (args.source.keys + tile - 1) / tile;
  const int query_blocks = (args.source.queries + tile - 1) / tile;
  int index = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
  const int first_key = index % key_blocks * tile;
  index /= key_blocks;
  const int first = index % query_blocks * tile;
  index /= query_blocks;
  const int head = index % args.source.heads;
  const int target_batch = index / args.source.heads;
  if (target_batch >= (rule(ATTENTION_BIAS_OF_BATCH) ? args.batches : 1)) return;
  const int up_stride = args.source.heads * value_width;
  const int shift = visible_shift();

  float sum[row_count][column_count];
  [[unroll]] for (int i = 0; i < row_count; i++)
    [[unroll]] for (int j = 0; j < column_count; j++) sum[i][j] = 0;
  const bool any_visible = first_key < key_end(shift, min(first + tile, args.source.queries) - 1) &&
                           first_key + tile > key_begin(shift, first);
  const int batch_end = !any_visible ? 0 : rule(ATTENTION_BIAS_OF_BATCH) ? target_batch + 1 : args.batches;
  for (int batch = target_batch; batch < batch_end; batch++) {
    const int q_base = batch * args.source.queries * args.source.q_stride + head * head_width;
    const int k_base = batch * args.source.keys * args.source.k_stride + head / group() * head_width;
    const int v_base = batch * args.source.keys * args.source.v_stride + head / group() * value_width;
    const int up_base = batch * args.source.queries * up_stride + head * value_width;
    float score[row_count][column_count];
    float slope[row_count][column_count];
    [[unroll]] for (int i = 0; i < row_count; i++)
      [[unroll]] for (int j = 0; j < column_count; j++) score[i][j] = slope[i][j] = 0;
    for (int n = 0; n < key_chunks; n++) {
      LOAD_TILE(row_tile, args.source.q, first, args.source.queries, q_base, args.source.q_stride, n, head_width)
      LOAD_TILE(column_tile, args.source.k, first_key, args.source.keys, k_base, args.source.k_stride, n, head_width)
      barrier();
      add_scores(score);
      barrier();
    }
    for (int n = 0; n < value_chunks; n++) {
      LOAD_TILE(row_tile, args.upstream, first, args.source.queries, up_base, up_stride, n, value_width)
      LOAD_TILE(column_tile, args.source.v, first_key, args.source.keys, v_base, args.source.v_stride, n, value_width)
      barrier();
      add_scores(slope);
      barrier();
    }
    [[unroll]] for (int i = 0; i < row_count; i++) {
      const int t = min(first + y() + lines * i, args.source.queries - 1);
      const int row = (batch * args.source.heads + head) * args.source.queries + t;
      const int end = key_end(shift, t);
      const float log_sum_exp = args.terms.v[2 * row];
      const float delta = args.terms.v[2 * row + 1];
      [[unroll]] for (int j = 0; j < column_count; j++) {
        const int key = first_key + x() + 16 * j;
        const float value = score_of(score[i][j] * args.source.scale, batch, head, t, key);
        const float weight = visible(batch, t, key, shift, end) ? exp(value - log_sum_exp) : 0;
        const float up = has_dropout ? slope[i][j] * kept_one(row, key) : slope[i][j];
        sum[i][j] += weight * (up - delta);
      }
    }
  }

  [[unroll]] for (int i = 0; i < row_count; i++)
    [[unroll]] for (int j = 0; j < column_count; j++) {
      const int t = first + y() + lines * i;
      const int key = first_key + x() + 16 * j;
      const int row = (target_batch * args.source.heads + head) * args.source.queries + t;
      if (t < args.source.queries && key < args.source.keys) args.target.v[row * args.source.keys + key] = sum[i][j];
    }
}
