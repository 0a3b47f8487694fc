#version 460
// Gradient of the queries for CPU-type drivers: lane = query. One workgroup (one subgroup) computes `query_groups` *
// lanes queries of one head; the weights are computed again from log_sum_exp.
// variant f32:
// variant u64: -DPAIRS
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBackwardArgs
#include "shaders/attention/software/attention_lanes.glsl"
layout(constant_id = ATTENTION_EXTRA) const int query_groups = 2;
layout(constant_id = ATTENTION_EXTRA + 1) const int key_block = 4;  // 4 with dropout, whose factors come in fours

void main() {
  const int blocks = (args.source.queries + query_groups * lanes - 1) / (query_groups * lanes);
  const int first = balanced(int(gl_WorkGroupID.x), blocks) * query_groups * lanes;
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int shift = visible_shift();

  float q[query_groups][head_width];
  float up[query_groups][value_width];
  float gradient[query_groups][head_width];
  float log_sum_exp[query_groups];
  float delta[query_groups];
  int query[query_groups];
  int end[query_groups];
  int row[query_groups];
  [[unroll]] for (int g = 0; g < query_groups; g++) {
    const int t = min(first + g * lanes + int(gl_SubgroupInvocationID), args.source.queries - 1);
    const int at = (batch * args.source.queries + t) * args.source.q_stride + head * head_width;
    const int up_at = ((batch * args.source.queries + t) * args.source.heads + head) * value_width;
    [[unroll]] for (int c = 0; c < head_width; c++) q[g][c] = args.source.q.v[at + c] * args.source.scale;
    [[unroll]] for (int c = 0; c < value_width; c++) up[g][c] = args.upstream.v[up_at + c];
    [[unroll]] for (int c = 0; c < head_width; c++) gradient[g][c] = 0;
    row[g] = (batch * args.source.heads + head) * args.source.queries + t;
    log_sum_exp[g] = args.terms.v[2 * row[g]];
    delta[g] = args.terms.v[2 * row[g] + 1];
    query[g] = t;
    end[g] = key_end(shift, t);
  }

  const int last_query = min(first + query_groups * lanes, args.source.queries) - 1;
  const int block_end = key_end(shift, last_query);
  const int key_head = head / group();
  // Blocks begin at multiples of their size, as dropout's factors do.
  for (int s = key_begin(shift, first) / key_block * key_block; s < block_end; s += key_block) {
    ELEMENT k[key_block][key_vectors];
    ELEMENT v[key_block][value_vectors];
    float score[query_groups][key_block];
    float slope[query_groups][key_block];
    [[unroll]] for (int j = 0; j < key_block; j++) {
      const int key_row = batch * args.source.keys + min(s + j, block_end - 1);
      const int at = key_row * args.source.k_stride + key_head * head_width;
      const int value_at = key_row * args.source.v_stride + key_head * value_width;
      [[unroll]] for (int i = 0; i < key_vectors; i++)
        k[j][i] = row_vector(ELEMENTS(args.source.k), at, i, key_elements);
      [[unroll]] for (int i = 0; i < value_vectors; i++)
        v[j][i] = row_vector(ELEMENTS(args.source.v), value_at, i, value_elements);
      [[unroll]] for (int g = 0; g < query_groups; g++) score[g][j] = slope[g][j] = 0;
    }
    [[unroll]] for (int c = 0; c < head_width; c++) {
      [[unroll]] for (int j = 0; j < key_block; j++) {
        const float key = SPREAD(k[j], c);
        [[unroll]] for (int g = 0; g < query_groups; g++) score[g][j] += q[g][c] * key;
      }
    }
    [[unroll]] for (int c = 0; c < value_width; c++) {
      [[unroll]] for (int j = 0; j < key_block; j++) {
        const float value = SPREAD(v[j], c);
        [[unroll]] for (int g = 0; g < query_groups; g++) slope[g][j] += up[g][c] * value;
      }
    }
    [[unroll]] for (int g = 0; g < query_groups; g++) {
      const vec4 keep = has_dropout ? kept(row[g], s / 4) : vec4(1);
      [[unroll]] for (int j = 0; j < key_block; j++) {
        const bool seen = visible(batch, query[g], s + j, shift, end[g]);
        const float value = score_of(score[g][j], batch, head, query[g], s + j);
        const float weight = seen ? exp(value - log_sum_exp[g]) : 0;
        slope[g][j] = weight * ((has_dropout ? slope[g][j] * keep[j] : slope[g][j]) - delta[g]) *
                      score_slope(score[g][j]);
      }
    }
    [[unroll]] for (int c = 0; c < head_width; c++) {
      [[unroll]] for (int j = 0; j < key_block; j++) {
        const float key = SPREAD(k[j], c);
        [[unroll]] for (int g = 0; g < query_groups; g++) gradient[g][c] += slope[g][j] * key;
      }
    }
  }

  [[unroll]] for (int g = 0; g < query_groups; g++) {
    const int t = first + g * lanes + int(gl_SubgroupInvocationID);
    if (t < args.source.queries) {
      const int at = (batch * args.source.queries + t) * args.source.q_stride + head * head_width;
      [[unroll]] for (int c = 0; c < head_width; c++) args.target.v[at + c] = gradient[g][c] * args.source.scale;
    }
  }
}
