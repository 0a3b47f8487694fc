#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// variant f16_keys: -DHALF=1 -DFLOAT_QUERIES
// variant bf16_keys: -DHALF=2 -DFLOAT_QUERIES
// Attention forward for GPUs: one workgroup computes a tile's queries of one head, a tile's keys at a time.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionArgs
#define ROWS_STAY (tile == 32 && head_width <= chunk)  // queries; in tiles of 64 there is no room
#include "shaders/attention/gpu/attention_tiled.glsl"

// Softmax: up to eight invocations share a row's keys. Neighbours have neighbouring rows, which lie in different banks.
const int parts = threads / tile;
const int part_keys = tile / parts;
const int part_steps = part_keys < 8 ? part_keys : 8;  // unrolled
shared float part_maximum[parts][tile];
shared float part_sum[parts][tile];
shared float row_factor[tile];

void main() {
  const int blocks = (args.source.queries + tile - 1) / tile;
  const int first = (blocks - 1 - block_index()) * tile;  // the longest first
  const int first_chunk = column_part() * value_chunks;
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int q_base = batch * args.source.queries * args.source.q_stride + head * head_width;
  const int k_base = batch * args.source.keys * args.source.k_stride + head / group() * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + head / group() * value_width;
  const int shift = visible_shift(batch);
  const int block_end = key_end(shift, min(first + tile, args.source.queries) - 1);
  const int softmax_row = int(gl_LocalInvocationIndex) % tile;
  const int part = int(gl_LocalInvocationIndex) / tile;
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
    for (int n = 0; n < key_slices; n++) {
      if (!ROWS_STAY || s == block_begin)
        stage_rows(args.source.q, q_base, args.source.q_stride, first, args.source.queries, n, head_width);
      stage_columns(args.source.k, k_base, args.source.k_stride, s, block_end, n, head_width);
      barrier();
      add_scores(score);
      barrier();
    }
    put_scores(score);
    [[dont_unroll]] for (int first_row = 0; first_row < row_count; first_row += rows_together)
      [[unroll]] for (int i = first_row; i < first_row + rows_together; i++) {
        const int t = first + row_of(i);
        const int end = key_end(shift, t);
        [[unroll]] for (int j = 0; j < column_count; j++) {
          const int at = weight_at(row_of(i), column_of(j));
          const int key = s + column_of(j);
          const bool seen = visible(batch, t, key, shift, end);
          const float value = score_of(tiles[at], batch, head, t, key);
          tiles[at] = seen ? value : lowest;
        }
      }
    barrier();

    const int part_at = weight_at(softmax_row, part * part_keys);
    float larger = lowest;
    [[dont_unroll]] for (int first_key = 0; first_key < part_keys; first_key += part_steps)
      [[unroll]] for (int key = first_key; key < first_key + part_steps; key++) larger = max(larger, tiles[part_at + key]);
    part_maximum[part][softmax_row] = larger;
    barrier();
    larger = maximum;
    [[unroll]] for (int i = 0; i < parts; i++) larger = max(larger, part_maximum[i][softmax_row]);
    const float rescale = exp(maximum - larger);
    maximum = larger;
    float partial = 0;
    [[dont_unroll]] for (int first_key = 0; first_key < part_keys; first_key += part_steps)
      [[unroll]] for (int key = first_key; key < first_key + part_steps; key++) {
        const float value = tiles[part_at + key];
        const float weight = value == lowest ? 0 : exp(value - larger);  // NaN stays
        partial += weight;
        tiles[part_at + key] = has_dropout ? weight * kept_one(row, s + part * part_keys + key) : weight;
      }
    part_sum[part][softmax_row] = partial;
    if (part == 0) row_factor[softmax_row] = rescale;
    barrier();
    sum *= rescale;
    [[unroll]] for (int i = 0; i < parts; i++) sum += part_sum[i][softmax_row];

    [[unroll]] for (int i = 0; i < row_count; i++) {
      const float factor = row_factor[row_of(i)];
      [[unroll]] for (int n = 0; n < value_chunks; n++)
        [[unroll]] for (int j = 0; j < chunk_count; j++) result[n][i][j] *= factor;
    }
    [[unroll]] for (int n = 0; n < value_chunks; n++)
      for (int begin = 0; begin < tile; begin += strip) {
        stage_strip(args.source.v, v_base, args.source.v_stride, s + begin, block_end, first_chunk + n, value_width);
        barrier();
        add_weighted(result[n], begin);
        barrier();
      }
  }

  if (part == 0) {
    float normalise = 1;
    if (has_sinks) normalise = add_sink(args.sinks.v[head], maximum, sum);
    row_factor[softmax_row] = normalise * reciprocal_of(sum);
    if ((wanted & 2u) != 0 && column_part() == 0 && first + softmax_row < args.source.queries)
      args.log_sum_exp.v[row] = log_sum_exp_of(maximum, sum);
  }
  barrier();
  if ((wanted & 1u) == 0) return;
  [[unroll]] for (int i = 0; i < row_count; i++) {
    const int t = first + row_of(i);
    if (t >= args.source.queries) continue;
    const int at = ((batch * args.source.queries + t) * args.source.heads + head) * value_width;
    [[unroll]] for (int n = 0; n < value_chunks; n++)
      store_chunk(args.result, at, first_chunk + n, value_width, result[n][i], row_factor[row_of(i)]);
  }
}
