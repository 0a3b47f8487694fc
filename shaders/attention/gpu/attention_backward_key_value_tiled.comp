#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Gradients of keys and values for GPUs: one workgroup computes a tile's keys of one key head, walking over the queries
// of all heads that share it, a tile's at a time and in order.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBackwardArgs
#include "shaders/attention/gpu/attention_backward_tiled.glsl"

void main() {
  const int first = block_index() * tile;
  const int first_key_chunk = column_part() * key_chunks, first_value_chunk = column_part() * value_chunks;
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
    const int row_base = (batch * args.source.heads + head) * args.source.queries;
    for (int t = first_query(shift, first); t < to_query; t += tile) {
      float score[row_count][column_count];  // [key][query]
      float slope[row_count][column_count];
      [[unroll]] for (int i = 0; i < row_count; i++)
        [[unroll]] for (int j = 0; j < column_count; j++) score[i][j] = slope[i][j] = 0;
      for (int n = 0; n < key_slices; n++) {
        stage_rows(args.source.k, k_base, args.source.k_stride, first, args.source.keys, n, head_width);
        stage_columns(args.source.q, q_base, args.source.q_stride, t, args.source.queries, n, head_width);
        barrier();
        add_scores(score);
        barrier();
      }
      for (int n = 0; n < value_slices; n++) {
        stage_rows(args.source.v, v_base, args.source.v_stride, first, args.source.keys, n, value_width);
        stage_columns(args.upstream, up_base, up_stride, t, args.source.queries, n, value_width);
        barrier();
        add_scores(slope);
        barrier();
      }
      put_scores(score);
      int row[column_count];
      [[unroll]] for (int j = 0; j < column_count; j++)
        row[j] = row_base + min(t + column_of(j), args.source.queries - 1);
      [[dont_unroll]] for (int first_row = 0; first_row < row_count; first_row += rows_together)
        [[unroll]] for (int i = first_row; i < first_row + rows_together; i++) {
          const int key = first + row_of(i);
          [[unroll]] for (int j = 0; j < column_count; j++) {
            const int at = weight_at(row_of(i), column_of(j));
            const int query = t + column_of(j);
            const int end = query < args.source.queries ? key_end(shift, query) : 0;
            tiles[at] = signed_weight(tiles[at], args.terms.v[2 * row[j]], batch, head, query, key, row[j], shift, end);
          }
        }
      [[unroll]] for (int j = 0; j < column_count; j++) {
        const float delta = args.terms.v[2 * row[j] + 1];
        [[unroll]] for (int i = 0; i < row_count; i++) {
          const int at = weight_at(row_of(i), column_of(j));
          const float weight = abs(tiles[at]), keep = kept_of(tiles[at]);
          slope[i][j] = weight * (slope[i][j] * keep - delta) * score_slope(score[i][j] * args.source.scale);
          tiles[at] = weight * keep;
        }
      }
      [[unroll]] for (int n = 0; n < value_chunks; n++)
        for (int begin = 0; begin < tile; begin += strip) {
          stage_strip(args.upstream, up_base, up_stride, t + begin, args.source.queries, first_value_chunk + n, value_width);
          barrier();
          add_weighted(gradient_v[n], begin);
          barrier();
        }
      [[unroll]] for (int i = 0; i < row_count; i++)
        [[unroll]] for (int j = 0; j < column_count; j++) tiles[weight_at(row_of(i), column_of(j))] = slope[i][j];
      [[unroll]] for (int n = 0; n < key_chunks; n++)
        for (int begin = 0; begin < tile; begin += strip) {
          stage_strip(args.source.q, q_base, args.source.q_stride, t + begin, args.source.queries, first_key_chunk + n,
                      head_width);
          barrier();
          add_weighted(gradient_k[n], begin);
          barrier();
        }
    }
  }

  [[unroll]] for (int i = 0; i < row_count; i++) {
    const int key = first + row_of(i);
    if (key >= args.source.keys) continue;
    if ((wanted & 1u) != 0)
      [[unroll]] for (int n = 0; n < key_chunks; n++)
        store_chunk(args.target, k_base + key * args.source.k_stride, first_key_chunk + n, head_width,
                    gradient_k[n][i], args.source.scale);
    if ((wanted & 2u) != 0)
      [[unroll]] for (int n = 0; n < value_chunks; n++)
        store_chunk(args.target_v, v_base + key * args.source.v_stride, first_value_chunk + n, value_width,
                    gradient_v[n][i], 1);
  }
}
