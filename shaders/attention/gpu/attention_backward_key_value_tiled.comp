#version 460
// Gradients of keys and values for GPUs: one workgroup computes 32 keys of one key head, walking over the queries of
// all heads that share it, 32 at a time and in order.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBackwardArgs
#include "shaders/attention/gpu/attention_tiled.glsl"

void main() {
  const int first = int(gl_WorkGroupID.x) * tile;
  const int key_head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int k_base = batch * args.source.keys * args.source.k_stride + key_head * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + key_head * value_width;
  const int up_stride = args.source.heads * value_width;
  const int shift = visible_shift();
  const int to_query = query_end(shift, min(first + tile, args.source.keys) - 1);

  float gradient_k[key_chunks][row_count][chunk_count];
  float gradient_v[value_chunks][row_count][chunk_count];
  [[unroll]] for (int i = 0; i < row_count; i++)
    [[unroll]] for (int j = 0; j < chunk_count; j++) {
      [[unroll]] for (int n = 0; n < key_chunks; n++) gradient_k[n][i][j] = 0;
      [[unroll]] for (int n = 0; n < value_chunks; n++) gradient_v[n][i][j] = 0;
    }

  for (int head = key_head * group(); head < (key_head + 1) * group(); head++) {
    const int q_base = batch * args.source.queries * args.source.q_stride + head * head_width;
    const int up_base = batch * args.source.queries * up_stride + head * value_width;
    for (int t = first_query(shift, first); t < to_query; t += tile) {
      float score[row_count][column_count];  // [key][query]
      float slope[row_count][column_count];
      [[unroll]] for (int i = 0; i < row_count; i++)
        [[unroll]] for (int j = 0; j < column_count; j++) score[i][j] = slope[i][j] = 0;
      for (int n = 0; n < key_chunks; n++) {
        LOAD_TILE(row_tile, args.source.k, first, args.source.keys, k_base, args.source.k_stride, n, head_width)
        LOAD_TILE(column_tile, args.source.q, t, args.source.queries, q_base, args.source.q_stride, n, head_width)
        barrier();
        add_scores(score);
        barrier();
      }
      for (int n = 0; n < value_chunks; n++) {
        LOAD_TILE(row_tile, args.source.v, first, args.source.keys, v_base, args.source.v_stride, n, value_width)
        LOAD_TILE(column_tile, args.upstream, t, args.source.queries, up_base, up_stride, n, value_width)
        barrier();
        add_scores(slope);
        barrier();
      }
      [[unroll]] for (int j = 0; j < column_count; j++) {
        const int query = t + x() + 16 * j;
        const int row = (batch * args.source.heads + head) * args.source.queries + min(query, args.source.queries - 1);
        const int end = query < args.source.queries ? key_end(shift, query) : 0;
        const float log_sum_exp = args.terms.v[2 * row];
        const float delta = args.terms.v[2 * row + 1];
        [[unroll]] for (int i = 0; i < row_count; i++) {
          const int key = first + y() + lines * i;
          const float value = score_of(score[i][j] * args.source.scale, batch, head, query, key);
          const float weight = visible(batch, query, key, shift, end) ? exp(value - log_sum_exp) : 0;
          const float keep = has_dropout ? kept_one(row, key) : 1;
          slope[i][j] = weight * (slope[i][j] * keep - delta) * score_slope(score[i][j] * args.source.scale);
          weight_tile[y() + lines * i][x() + 16 * j] = weight * keep;
        }
      }
      [[unroll]] for (int n = 0; n < value_chunks; n++) {
        LOAD_TILE(column_tile, args.upstream, t, args.source.queries, up_base, up_stride, n, value_width)
        barrier();
        add_weighted(gradient_v[n]);
        barrier();
      }
      [[unroll]] for (int i = 0; i < row_count; i++)
        [[unroll]] for (int j = 0; j < column_count; j++) weight_tile[y() + lines * i][x() + 16 * j] = slope[i][j];
      [[unroll]] for (int n = 0; n < key_chunks; n++) {
        LOAD_TILE(column_tile, args.source.q, t, args.source.queries, q_base, args.source.q_stride, n, head_width)
        barrier();
        add_weighted(gradient_k[n]);
        barrier();
      }
    }
  }

  [[unroll]] for (int i = 0; i < row_count; i++) {
    const int key = first + y() + lines * i;
    if (key >= args.source.keys) continue;
    [[unroll]] for (int j = 0; j < chunk_count; j++) {
      const int c = x() + 16 * j;
      if ((wanted & 1u) != 0)
        [[unroll]] for (int n = 0; n < key_chunks; n++)
          if (n * chunk + c < head_width)
            args.target.v[k_base + key * args.source.k_stride + n * chunk + c] =
                gradient_k[n][i][j] * args.source.scale;
      if ((wanted & 2u) != 0)
        [[unroll]] for (int n = 0; n < value_chunks; n++)
          if (n * chunk + c < value_width)
            args.target_v.v[v_base + key * args.source.v_stride + n * chunk + c] = gradient_v[n][i][j];
    }
  }
}
