#version 460
// Attention forward for GPUs: one workgroup computes 32 queries of one head, 32 keys at a time.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionArgs
#include "shaders/attention/gpu/attention_tiled.glsl"

// Softmax: four or eight invocations a row share the tile's keys.
const int parts = threads / tile;
const int part_keys = tile / parts;
shared float part_maximum[tile][parts];
shared float part_sum[tile][parts];
shared float row_factor[tile];

void main() {
  const int blocks = (args.source.queries + tile - 1) / tile;
  const int first = (blocks - 1 - int(gl_WorkGroupID.x)) * tile;  // the longest first
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int q_base = batch * args.source.queries * args.source.q_stride + head * head_width;
  const int k_base = batch * args.source.keys * args.source.k_stride + head / group() * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + head / group() * value_width;
  const int shift = visible_shift();
  const int block_end = key_end(shift, min(first + tile, args.source.queries) - 1);
  const int softmax_row = int(gl_LocalInvocationIndex) / parts;
  const int part = int(gl_LocalInvocationIndex) % parts;
  const int softmax_query = min(first + softmax_row, args.source.queries - 1);
  const int row = (batch * args.source.heads + head) * args.source.queries + softmax_query;

  float result[value_chunks][row_count][chunk_count];
  [[unroll]] for (int n = 0; n < value_chunks; n++)
    [[unroll]] for (int i = 0; i < row_count; i++)
      [[unroll]] for (int j = 0; j < chunk_count; j++) result[n][i][j] = 0;
  float maximum = lowest;
  float sum = 0;

  const int block_begin = key_begin(shift, first);
  for (int s = block_begin; s < block_end; s += tile) {
    float score[row_count][column_count];
    [[unroll]] for (int i = 0; i < row_count; i++)
      [[unroll]] for (int j = 0; j < column_count; j++) score[i][j] = 0;
    for (int n = 0; n < key_chunks; n++) {
      if (key_chunks > 1 || s == block_begin)
        LOAD_TILE(row_tile, args.source.q, first, args.source.queries, q_base, args.source.q_stride, n, head_width)
      LOAD_TILE(column_tile, args.source.k, s, block_end, k_base, args.source.k_stride, n, head_width)
      barrier();
      add_scores(score);
      barrier();
    }
    [[unroll]] for (int i = 0; i < row_count; i++) {
      const int t = first + y() + lines * i;
      const int end = key_end(shift, t);
      [[unroll]] for (int j = 0; j < column_count; j++) {
        const int key = s + x() + 16 * j;
        const bool seen = visible(batch, t, key, shift, end);
        const float value = score_of(score[i][j] * args.source.scale, batch, head, t, key);
        weight_tile[y() + lines * i][x() + 16 * j] = seen ? value : lowest;
      }
    }
    barrier();

    float larger = lowest;
    [[unroll]] for (int i = 0; i < part_keys; i++) larger = max(larger, weight_tile[softmax_row][part * part_keys + i]);
    part_maximum[softmax_row][part] = larger;
    barrier();
    larger = maximum;
    [[unroll]] for (int i = 0; i < parts; i++) larger = max(larger, part_maximum[softmax_row][i]);
    const float rescale = exp(maximum - larger);
    maximum = larger;
    float partial = 0;
    [[unroll]] for (int i = 0; i < part_keys; i++) {
      const int key = part * part_keys + i;
      const float value = weight_tile[softmax_row][key];
      const float weight = value == lowest ? 0 : exp(value - larger);  // NaN stays
      partial += weight;
      weight_tile[softmax_row][key] = has_dropout ? weight * kept_one(row, s + key) : weight;
    }
    part_sum[softmax_row][part] = partial;
    if (part == 0) row_factor[softmax_row] = rescale;
    barrier();
    sum *= rescale;
    [[unroll]] for (int i = 0; i < parts; i++) sum += part_sum[softmax_row][i];

    [[unroll]] for (int n = 0; n < value_chunks; n++) {
      LOAD_TILE(column_tile, args.source.v, s, block_end, v_base, args.source.v_stride, n, value_width)
      barrier();
      [[unroll]] for (int i = 0; i < row_count; i++)
        [[unroll]] for (int j = 0; j < chunk_count; j++) result[n][i][j] *= row_factor[y() + lines * i];
      add_weighted(result[n]);
      barrier();
    }
  }

  if (part == 0) {
    row_factor[softmax_row] = reciprocal_of(sum);
    if ((wanted & 2u) != 0 && first + softmax_row < args.source.queries)
      args.log_sum_exp.v[row] = log_sum_exp_of(maximum, sum);
  }
  barrier();
  if ((wanted & 1u) == 0) return;
  [[unroll]] for (int n = 0; n < value_chunks; n++)
    [[unroll]] for (int i = 0; i < row_count; i++)
      [[unroll]] for (int j = 0; j < chunk_count; j++) {
        const int t = first + y() + lines * i;
        const int c = n * chunk + x() + 16 * j;
        if (t < args.source.queries && c < value_width)
          args.result.v[((batch * args.source.queries + t) * args.source.heads + head) * value_width + c] =
              result[n][i][j] * row_factor[y() + lines * i];
      }
}
