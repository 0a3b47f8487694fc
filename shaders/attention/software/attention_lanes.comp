#version 460
// Attention forward for CPU-type drivers: lane = query. One workgroup (one subgroup) computes `query_groups` * lanes
// queries of one head; keys come in blocks of four with one rescaling of the running sums a block.
// variant f32:
// variant u64: -DPAIRS
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionArgs
#include "shaders/attention/software/attention_lanes.glsl"
layout(constant_id = ATTENTION_EXTRA) const int query_groups = 2;
const int key_block = 4;

void main() {
  const int blocks = (args.source.queries + query_groups * lanes - 1) / (query_groups * lanes);
  const int first = balanced(int(gl_WorkGroupID.x), blocks) * query_groups * lanes;
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int shift = visible_shift(batch);

  float q[query_groups][head_width];
  float sum_v[query_groups][value_width];
  float maximum[query_groups];
  float sum[query_groups];
  int query[query_groups];
  int end[query_groups];
  int row[query_groups];
  [[unroll]] for (int g = 0; g < query_groups; g++) {
    const int t = min(first + g * lanes + int(gl_SubgroupInvocationID), args.source.queries - 1);
    const int at = (batch * args.source.queries + t) * args.source.q_stride + head * head_width;
    [[unroll]] for (int c = 0; c < head_width; c++) q[g][c] = args.source.q.v[at + c] * args.source.scale;
    [[unroll]] for (int c = 0; c < value_width; c++) sum_v[g][c] = 0;
    maximum[g] = lowest;
    sum[g] = 0;
    query[g] = t;
    end[g] = key_end(shift, t);
    row[g] = (batch * args.source.heads + head) * args.source.queries + t;
  }

  const int last_query = min(first + query_groups * lanes, args.source.queries) - 1;
  const int block_end = key_end(shift, last_query);
  const int key_head = head / group();
  // Blocks begin at multiples of four, as dropout's factors do.
  for (int s = key_begin(shift, first) / key_block * key_block; s < block_end; s += key_block) {
    float score[query_groups][key_block];
    {
      ELEMENT k[key_block][key_vectors];
      [[unroll]] for (int j = 0; j < key_block; j++) {
        const int key_row = batch * args.source.keys + min(s + j, block_end - 1);
        const int at = key_row * args.source.k_stride + key_head * head_width;
        [[unroll]] for (int i = 0; i < key_vectors; i++)
          k[j][i] = row_vector(ELEMENTS(args.source.k), at, i, key_elements);
        [[unroll]] for (int g = 0; g < query_groups; g++) score[g][j] = 0;
      }
      [[unroll]] for (int c = 0; c < head_width; c++) {
        [[unroll]] for (int j = 0; j < key_block; j++) {
          const float key = SPREAD(k[j], c);
          [[unroll]] for (int g = 0; g < query_groups; g++) score[g][j] += q[g][c] * key;
        }
      }
    }
    float rescale[query_groups];
    [[unroll]] for (int g = 0; g < query_groups; g++) {
      bool seen[key_block];
      [[unroll]] for (int j = 0; j < key_block; j++) {
        seen[j] = visible(batch, query[g], s + j, shift, end[g]);
        score[g][j] = score_of(score[g][j], batch, head, query[g], s + j);
      }
      float larger = maximum[g];
      [[unroll]] for (int j = 0; j < key_block; j++) larger = seen[j] ? max(larger, score[g][j]) : larger;
      rescale[g] = exp(maximum[g] - larger);
      maximum[g] = larger;
      sum[g] *= rescale[g];
      const vec4 keep = has_dropout ? kept(row[g], s / 4) : vec4(1);
      [[unroll]] for (int j = 0; j < key_block; j++) {
        const float weight = seen[j] ? exp(score[g][j] - larger) : 0;
        sum[g] += weight;
        score[g][j] = has_dropout ? weight * keep[j] : weight;
      }
    }
    ELEMENT v[key_block][value_vectors];
    [[unroll]] for (int j = 0; j < key_block; j++) {
      const int key_row = batch * args.source.keys + min(s + j, block_end - 1);
      const int at = key_row * args.source.v_stride + key_head * value_width;
      [[unroll]] for (int i = 0; i < value_vectors; i++)
        v[j][i] = row_vector(ELEMENTS(args.source.v), at, i, value_elements);
    }
    [[unroll]] for (int c = 0; c < value_width; c++) {
      [[unroll]] for (int g = 0; g < query_groups; g++) sum_v[g][c] *= rescale[g];
      [[unroll]] for (int j = 0; j < key_block; j++) {
        const float value = SPREAD(v[j], c);
        [[unroll]] for (int g = 0; g < query_groups; g++) sum_v[g][c] += score[g][j] * value;
      }
    }
  }

  [[unroll]] for (int g = 0; g < query_groups; g++) {
    const int t = first + g * lanes + int(gl_SubgroupInvocationID);
    if (t < args.source.queries) {
      float normalise = 1;
      if (has_sinks) normalise = add_sink(args.sinks.v[head], maximum[g], sum[g]);
      normalise *= reciprocal_of(sum[g]);
      const int at = ((batch * args.source.queries + t) * args.source.heads + head) * value_width;
      if ((wanted & 1u) != 0)
        [[unroll]] for (int c = 0; c < value_width; c++) args.result.v[at + c] = sum_v[g][c] * normalise;
      if ((wanted & 2u) != 0) args.log_sum_exp.v[row[g]] = log_sum_exp_of(maximum[g], sum[g]);
    }
  }
}
