#version 460
// Gradients of keys and values for CPU-type drivers: lane = key. One workgroup (one subgroup) computes `key_groups` *
// lanes keys of one key head, walking over the queries of all heads that share it, in order.
// variant f32:
// variant u64: -DPAIRS
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBackwardArgs
#include "shaders/attention/software/attention_lanes.glsl"
layout(constant_id = ATTENTION_EXTRA) const int key_groups = 2;
const int query_block = 2;

void main() {
  const int blocks = (args.source.keys + key_groups * lanes - 1) / (key_groups * lanes);
  const int first = balanced(int(gl_WorkGroupID.x), blocks) * key_groups * lanes;
  const int key_head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int shift = visible_shift();

  float k[key_groups][head_width];
  float v[key_groups][value_width];
  float gradient_k[key_groups][head_width];
  float gradient_v[key_groups][value_width];
  int key[key_groups];
  [[unroll]] for (int g = 0; g < key_groups; g++) {
    key[g] = first + g * lanes + int(gl_SubgroupInvocationID);
    const int key_row = batch * args.source.keys + min(key[g], args.source.keys - 1);
    const int at = key_row * args.source.k_stride + key_head * head_width;
    const int value_at = key_row * args.source.v_stride + key_head * value_width;
    [[unroll]] for (int c = 0; c < head_width; c++) k[g][c] = args.source.k.v[at + c] * args.source.scale;
    [[unroll]] for (int c = 0; c < value_width; c++) v[g][c] = args.source.v.v[value_at + c];
    [[unroll]] for (int c = 0; c < head_width; c++) gradient_k[g][c] = 0;
    [[unroll]] for (int c = 0; c < value_width; c++) gradient_v[g][c] = 0;
  }

  const int from_query = first_query(shift, first);
  const int to_query = query_end(shift, min(first + key_groups * lanes, args.source.keys) - 1);
  for (int head = key_head * group(); head < (key_head + 1) * group(); head++) {
    const int head_row = (batch * args.source.heads + head) * args.source.queries;
    for (int t = from_query; t < to_query; t += query_block) {
      ELEMENT q[query_block][key_vectors];
      ELEMENT up[query_block][value_vectors];
      float score[key_groups][query_block];
      float slope[key_groups][query_block];
      [[unroll]] for (int i = 0; i < query_block; i++) {
        const int query_row = batch * args.source.queries + min(t + i, args.source.queries - 1);
        const int at = query_row * args.source.q_stride + head * head_width;
        const int up_at = (query_row * args.source.heads + head) * value_width;
        [[unroll]] for (int n = 0; n < key_vectors; n++)
          q[i][n] = row_vector(ELEMENTS(args.source.q), at, n, key_elements);
        [[unroll]] for (int n = 0; n < value_vectors; n++)
          up[i][n] = row_vector(ELEMENTS(args.upstream), up_at, n, value_elements);
        [[unroll]] for (int g = 0; g < key_groups; g++) score[g][i] = slope[g][i] = 0;
      }
      [[unroll]] for (int c = 0; c < head_width; c++) {
        [[unroll]] for (int i = 0; i < query_block; i++) {
          const float query = SPREAD(q[i], c);
          [[unroll]] for (int g = 0; g < key_groups; g++) score[g][i] += k[g][c] * query;
        }
      }
      [[unroll]] for (int c = 0; c < value_width; c++) {
        [[unroll]] for (int i = 0; i < query_block; i++) {
          const float upstream = SPREAD(up[i], c);
          [[unroll]] for (int g = 0; g < key_groups; g++) slope[g][i] += v[g][c] * upstream;
        }
      }
      [[unroll]] for (int i = 0; i < query_block; i++) {
        const int row = head_row + min(t + i, args.source.queries - 1);
        const float log_sum_exp = args.terms.v[2 * row];
        const float delta = args.terms.v[2 * row + 1];
        const int end = t + i < args.source.queries ? key_end(shift, t + i) : 0;
        [[unroll]] for (int g = 0; g < key_groups; g++) {
          const bool seen = visible(batch, t + i, key[g], shift, end);
          const float value = score_of(score[g][i], batch, head, t + i, key[g]);
          const float weight = seen ? exp(value - log_sum_exp) : 0;
          const float keep = has_dropout ? kept_one(row, key[g]) : 1;
          slope[g][i] =
              weight * ((has_dropout ? slope[g][i] * keep : slope[g][i]) - delta) * score_slope(score[g][i]);
          score[g][i] = has_dropout ? weight * keep : weight;
        }
      }
      [[unroll]] for (int c = 0; c < value_width; c++) {
        [[unroll]] for (int i = 0; i < query_block; i++) {
          const float upstream = SPREAD(up[i], c);
          [[unroll]] for (int g = 0; g < key_groups; g++) gradient_v[g][c] += score[g][i] * upstream;
        }
      }
      [[unroll]] for (int c = 0; c < head_width; c++) {
        [[unroll]] for (int i = 0; i < query_block; i++) {
          const float query = SPREAD(q[i], c);
          [[unroll]] for (int g = 0; g < key_groups; g++) gradient_k[g][c] += slope[g][i] * query;
        }
      }
    }
  }

  [[unroll]] for (int g = 0; g < key_groups; g++) {
    if (key[g] < args.source.keys) {
      const int at = (batch * args.source.keys + key[g]) * args.source.k_stride + key_head * head_width;
      const int value_at = (batch * args.source.keys + key[g]) * args.source.v_stride + key_head * value_width;
      if ((wanted & 1u) != 0)
        [[unroll]] for (int c = 0; c < head_width; c++) args.target.v[at + c] = gradient_k[g][c] * args.source.scale;
      if ((wanted & 2u) != 0)
        [[unroll]] for (int c = 0; c < value_width; c++) args.target_v.v[value_at + c] = gradient_v[g][c];
    }
  }
}
