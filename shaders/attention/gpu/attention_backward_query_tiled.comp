#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Gradient of the queries for GPUs: one workgroup computes a tile's queries of one head, a tile's keys at a time; the
// weights are computed again from log_sum_exp.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBackwardArgs
#include "shaders/attention/gpu/attention_backward_tiled.glsl"

void main() {
  const int blocks = (args.source.queries + tile - 1) / tile;
  const int first = (blocks - 1 - block_index()) * tile;  // the longest first
  const int first_chunk = column_part() * key_chunks;
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int q_base = batch * args.source.queries * args.source.q_stride + head * head_width;
  const int k_base = batch * args.source.keys * args.source.k_stride + head / group() * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + head / group() * value_width;
  const int up_stride = args.source.heads * value_width;
  const int up_base = batch * args.source.queries * up_stride + head * value_width;
  const int row_base = (batch * args.source.heads + head) * args.source.queries;
  const int shift = visible_shift();
  const int block_end = key_end(shift, min(first + tile, args.source.queries) - 1);

  float gradient[key_chunks][row_count][chunk_count];
  [[unroll]] for (int n = 0; n < key_chunks; n++)
    [[unroll]] for (int i = 0; i < row_count; i++)
      [[unroll]] for (int j = 0; j < chunk_count; j++) gradient[n][i][j] = 0;

  for (int s = key_begin(shift, first); s < block_end; s += tile) {
    float score[row_count][column_count];
    float slope[row_count][column_count];
    [[unroll]] for (int i = 0; i < row_count; i++)
      [[unroll]] for (int j = 0; j < column_count; j++) score[i][j] = slope[i][j] = 0;
    for (int n = 0; n < key_slices; n++) {
      stage_rows(args.source.q, q_base, args.source.q_stride, first, args.source.queries, n, head_width);
      stage_columns(args.source.k, k_base, args.source.k_stride, s, block_end, n, head_width);
      barrier();
      add_scores(score);
      barrier();
    }
    for (int n = 0; n < value_slices; n++) {
      stage_rows(args.upstream, up_base, up_stride, first, args.source.queries, n, value_width);
      stage_columns(args.source.v, v_base, args.source.v_stride, s, block_end, n, value_width);
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
          tiles[at] = signed_weight(tiles[at], log_sum_exp, batch, head, t, s + column_of(j), row, shift, end);
        }
      }
    [[unroll]] for (int i = 0; i < row_count; i++) {
      const float delta = args.terms.v[2 * (row_base + min(first + row_of(i), args.source.queries - 1)) + 1];
      [[unroll]] for (int j = 0; j < column_count; j++) {
        const int at = weight_at(row_of(i), column_of(j));
        const float weight = abs(tiles[at]);
        tiles[at] = weight * (slope[i][j] * kept_of(tiles[at]) - delta) * score_slope(score[i][j] * args.source.scale);
      }
    }
    [[unroll]] for (int n = 0; n < key_chunks; n++)
      for (int begin = 0; begin < tile; begin += strip) {
        stage_strip(args.source.k, k_base, args.source.k_stride, s + begin, block_end, first_chunk + n, head_width);
        barrier();
        add_weighted(gradient[n], begin);
        barrier();
      }
  }

  [[unroll]] for (int i = 0; i < row_count; i++) {
    const int t = first + row_of(i);
    if (t >= args.source.queries) continue;
    [[unroll]] for (int n = 0; n < key_chunks; n++)
      store_chunk(args.target, q_base + t * args.source.q_stride, first_chunk + n, head_width, gradient[n][i], args.source.scale);
  }
}
