#version 460
// Gradient of the queries for GPUs: one workgroup computes 32 queries of one head, 32 keys at a time; the weights are
// computed again from log_sum_exp.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBackwardArgs
#include "shaders/attention/gpu/attention_tiled.glsl"

void main() {
  const int blocks = (args.source.queries + tile - 1) / tile;
  const int first = (blocks - 1 - int(gl_WorkGroupID.x)) * tile;  // the longest first
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int q_base = batch * args.source.queries * args.source.q_stride + head * head_width;
  const int k_base = batch * args.source.keys * args.source.k_stride + head / group() * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + head / group() * value_width;
  const int up_stride = args.source.heads * value_width;
  const int up_base = batch * args.source.queries * up_stride + head * value_width;
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
    for (int n = 0; n < key_chunks; n++) {
      LOAD_TILE(row_tile, args.source.q, first, args.source.queries, q_base, args.source.q_stride, n, head_width)
      LOAD_TILE(column_tile, args.source.k, s, block_end, k_base, args.source.k_stride, n, head_width)
      barrier();
      add_scores(score);
      barrier();
    }
    for (int n = 0; n < value_chunks; n++) {
      LOAD_TILE(row_tile, args.upstream, first, args.source.queries, up_base, up_stride, n, value_width)
      LOAD_TILE(column_tile, args.source.v, s, block_end, v_base, args.source.v_stride, n, value_width)
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
        const int key = s + x() + 16 * j;
        const float value = score_of(score[i][j] * args.source.scale, batch, head, t, key);
        const float weight = visible(batch, t, key, shift, end) ? exp(value - log_sum_exp) : 0;
        const float up = has_dropout ? slope[i][j] * kept_one(row, key) : slope[i][j];
        weight_tile[y() + lines * i][x() + 16 * j] = weight * (up - delta) * score_slope(score[i][j] * args.source.scale);
      }
    }
    [[unroll]] for (int n = 0; n < key_chunks; n++) {
      LOAD_TILE(column_tile, args.source.k, s, block_end, k_base, args.source.k_stride, n, head_width)
      barrier();
      add_weighted(gradient[n]);
      barrier();
    }
  }

  [[unroll]] for (int n = 0; n < key_chunks; n++)
    [[unroll]] for (int i = 0; i < row_count; i++)
      [[unroll]] for (int j = 0; j < chunk_count; j++) {
        const int t = first + y() + lines * i;
        const int c = n * chunk + x() + 16 * j;
        if (t < args.source.queries && c < head_width)
          args.target.v[q_base + t * args.source.q_stride + c] = gradient[n][i][j] * args.source.scale;
      }
}
