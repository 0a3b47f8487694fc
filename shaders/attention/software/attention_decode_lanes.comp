#version 460
// Attention of a few queries over many keys for CPU-type drivers: lane = key for the scores, lane = column for the
// values. One workgroup (one subgroup) computes `rows` of the queries that share one key head. No dropout.
// variant f32:
// variant u64: -DPAIRS
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionArgs
#include "shaders/attention/software/attention_lanes.glsl"
#extension GL_KHR_shader_subgroup_shuffle : require
layout(constant_id = ATTENTION_EXTRA) const int rows = 1;

float largest(float value) {
  [[unroll]] for (int step = 1; step < lanes; step *= 2) value = max(value, subgroupShuffleXor(value, step));
  return value;
}
float total(float value) {
  [[unroll]] for (int step = 1; step < lanes; step *= 2) value += subgroupShuffleXor(value, step);
  return value;
}

void main() {
  const int lane = int(gl_SubgroupInvocationID);
  const int row_total = args.source.queries * group();
  const int first = int(gl_WorkGroupID.x) * rows;
  const int key_head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int shift = visible_shift(batch);

  // Row n is query n / group() of head key_head * group() + n % group(); a row past the end repeats the last one.
  int query[rows];
  int head[rows];
  ELEMENT q[rows][key_vectors];
  ELEMENT result[rows][value_vectors];
  float maximum[rows];
  float sum[rows];
  int end[rows];
  [[unroll]] for (int r = 0; r < rows; r++) {
    const int n = min(first + r, row_total - 1);
    query[r] = n / group();
    head[r] = key_head * group() + n % group();
    const int at = (batch * args.source.queries + query[r]) * args.source.q_stride + head[r] * head_width;
    [[unroll]] for (int i = 0; i < key_vectors; i++)
      q[r][i] = row_vector(ELEMENTS(args.source.q), at, i, key_elements) * args.source.scale;
    [[unroll]] for (int i = 0; i < value_vectors; i++) result[r][i] = ELEMENT(0);
    maximum[r] = lowest;
    sum[r] = 0;
    end[r] = key_end(shift, query[r]);
  }

  const int block_end = end[rows - 1];
  for (int s = key_begin(shift, query[0]); s < block_end; s += lanes) {
    const int key = min(s + lane, block_end - 1);
    const int at = (batch * args.source.keys + key) * args.source.k_stride + key_head * head_width;
    float weight[rows];
    [[unroll]] for (int r = 0; r < rows; r++) weight[r] = 0;
    [[unroll]] for (int i = 0; i < key_elements; i++) {
      const ELEMENT k = load_element(ELEMENTS(args.source.k), at / per_element + i);
      [[unroll]] for (int r = 0; r < rows; r++)
        [[unroll]] for (int c = 0; c < per_element; c++)
          weight[r] += SPREAD(q[r], i * per_element + c) * component(k, c);
    }
    [[unroll]] for (int r = 0; r < rows; r++) {
      const bool seen = visible(batch, query[r], s + lane, shift, end[r]);
      weight[r] = score_of(weight[r], batch, head[r], query[r], s + lane);
      const float larger = max(maximum[r], largest(seen ? weight[r] : lowest));
      const float rescale = exp(maximum[r] - larger);
      weight[r] = seen ? exp(weight[r] - larger) : 0;
      sum[r] = sum[r] * rescale + weight[r];
      maximum[r] = larger;
      [[unroll]] for (int i = 0; i < value_vectors; i++) result[r][i] *= rescale;
    }
    [[unroll]] for (int j = 0; j < lanes; j++) {
      const int value_row = batch * args.source.keys + min(s + j, block_end - 1);
      const int value_at = value_row * args.source.v_stride + key_head * value_width;
      [[unroll]] for (int i = 0; i < value_vectors; i++) {
        const ELEMENT v = row_vector(ELEMENTS(args.source.v), value_at, i, value_elements);
        [[unroll]] for (int r = 0; r < rows; r++) result[r][i] += subgroupBroadcast(weight[r], j) * v;
      }
    }
  }

  [[unroll]] for (int r = 0; r < rows; r++) {
    float row_sum = total(sum[r]);
    if (first + r < row_total) {
      float normalise = 1;
      if (has_sinks) normalise = add_sink(args.sinks.v[head[r]], maximum[r], row_sum);
      normalise *= reciprocal_of(row_sum);
      const int at = ((batch * args.source.queries + query[r]) * args.source.heads + head[r]) * value_width;
      if ((wanted & 1u) != 0)
        [[unroll]] for (int i = 0; i < value_vectors; i++)
          if (i * lanes + lane < value_elements)
            [[unroll]] for (int c = 0; c < per_element; c++)
              args.result.v[at + (i * lanes + lane) * per_element + c] = component(result[r][i], c) * normalise;
      if ((wanted & 2u) != 0 && lane == 0)
        args.log_sum_exp.v[(batch * args.source.heads + head[r]) * args.source.queries + query[r]] =
            log_sum_exp_of(maximum[r], row_sum);
    }
  }
}
