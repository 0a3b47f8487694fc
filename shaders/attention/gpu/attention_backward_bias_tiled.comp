#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Gradient of the bias for GPUs: one workgroup computes a tile's queries of one head, each with a tile's keys; where all
// batches have one bias, it adds theirs up, in order.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBiasBackwardArgs
#include "shaders/attention/gpu/attention_backward_tiled.glsl"

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
    const int row_base = (batch * args.source.heads + head) * args.source.queries;
    float score[row_count][column_count];
    float slope[row_count][column_count];
    [[unroll]] for (int i = 0; i < row_count; i++)
      [[unroll]] for (int j = 0; j < column_count; j++) score[i][j] = slope[i][j] = 0;
    for (int n = 0; n < key_slices; n++) {
      stage_rows(args.source.q, q_base, args.source.q_stride, first, args.source.queries, n, head_width);
      stage_columns(args.source.k, k_base, args.source.k_stride, first_key, args.source.keys, n, head_width);
      barrier();
      add_scores(score);
      barrier();
    }
    for (int n = 0; n < value_slices; n++) {
      stage_rows(args.upstream, up_base, up_stride, first, args.source.queries, n, value_width);
      stage_columns(args.source.v, v_base, args.source.v_stride, first_key, args.source.keys, n, value_width);
      barrier();
      add_scores(slope);
      barrier();
    }
    put_scores(score);
    [[dont_unroll]] for (int first_row = 0; first_row < row_count; first_row += rows_together)
      [[unroll]] for (int i = first_row; i < first_row + rows_together; i++) {
        const int t = min(first + row_of(i), args.source.queries - 1);
        const int row = row_base + t;
        const int end = key_end(shift, t);
        const float log_sum_exp = args.terms.v[2 * row];
        [[unroll]] for (int j = 0; j < column_count; j++) {
          const int at = weight_at(row_of(i), column_of(j));
          tiles[at] = signed_weight(tiles[at], log_sum_exp, batch, head, t, first_key + column_of(j), row, shift, end);
        }
      }
    [[unroll]] for (int i = 0; i < row_count; i++) {
      const float delta = args.terms.v[2 * (row_base + min(first + row_of(i), args.source.queries - 1)) + 1];
      [[unroll]] for (int j = 0; j < column_count; j++) {
        const int at = weight_at(row_of(i), column_of(j));
        const float weight = abs(tiles[at]);
        sum[i][j] += weight * (slope[i][j] * kept_of(tiles[at]) - delta);
      }
    }
    barrier();
  }

  [[unroll]] for (int i = 0; i < row_count; i++)
    [[unroll]] for (int j = 0; j < column_count; j++) {
      const int t = first + row_of(i);
      const int key = first_key + column_of(j);
      const int row = (target_batch * args.source.heads + head) * args.source.queries + t;
      if (t < args.source.queries && key < args.source.keys) args.target.v[row * args.source.keys + key] = sum[i][j];
    }
}
