#version 460
// variant f32:
// variant f16_keys: -DHALF=1 -DFLOAT_QUERIES
// variant bf16_keys: -DHALF=2 -DFLOAT_QUERIES
// Attention of a few queries over many keys for GPUs: one workgroup computes one query of one head over a part of the
// keys, an invocation a key for the scores and a column for the values. No dropout.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionDecodeArgs
#include "shaders/attention/attention.glsl"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif
layout(constant_id = ATTENTION_EXTRA) const int column_threads = 64;  // a power of two: invocations along a row

const int threads = 128;
const int slices = threads / column_threads;
const int value_columns = (value_width + column_threads - 1) / column_threads;

shared float q[head_width];
shared float weights[threads];
shared float partial[threads];

float value_at(int i) {
#ifdef HALF
  return half_at(args.source.v, uint(i));
#else
  return args.source.v.v[i];
#endif
}

void main() {
  const int id = int(gl_LocalInvocationIndex);
  const int part = int(gl_WorkGroupID.x);
  const int t = int(gl_WorkGroupID.y) % args.source.queries;
  const int head = int(gl_WorkGroupID.y) / args.source.queries;
  const int batch = int(gl_WorkGroupID.z);
  const int q_base = (batch * args.source.queries + t) * args.source.q_stride + head * head_width;
  const int k_base = batch * args.source.keys * args.source.k_stride + head / group() * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + head / group() * value_width;
  const int shift = visible_shift(batch);
  const int row_end = key_end(shift, t);
  const bool split = args.part_count > 1;
  // Parts of what this query sees: at the begin of a large cache, or in a window, all of them have keys, too.
  const int first = key_begin(shift, t);
  const int most_keys = args.part_count * threads;  // of a pass of all parts
  const int part_keys = (max(row_end - first, 0) + most_keys - 1) / most_keys * threads;
  const int begin = first + part * part_keys;
  const int end = min(begin + part_keys, row_end);
  const int column = id % column_threads;
  const int slice = id / column_threads;

  for (int c = id; c < head_width; c += threads) q[c] = args.source.q.v[q_base + c] * args.source.scale;
  barrier();
  float result[value_columns];
  [[unroll]] for (int i = 0; i < value_columns; i++) result[i] = 0;
  float maximum = lowest;
  float sum = 0;  // over the keys of this invocation
  for (int s = begin; s < end; s += threads) {
    float score = 0;
    const int k_row = k_base + min(s + id, end - 1) * args.source.k_stride;
#ifdef HALF
    for (int c = 0; c < head_width; c += 2)
      score += dot(vec2(q[c], q[c + 1]), unpack_halves(args.source.k.v[(k_row + c) / 2]));
#else
    for (int c = 0; c < head_width; c++) score += q[c] * args.source.k.v[k_row + c];
#endif
    score = score_of(score, batch, head, t, s + id);
    const bool seen = visible(batch, t, s + id, shift, end);
    partial[id] = seen ? score : lowest;
    barrier();
    for (int n = threads / 2; n > 0; n /= 2) {
      if (id < n) partial[id] = max(partial[id], partial[id + n]);
      barrier();
    }
    const float larger = max(maximum, partial[0]);
    const float rescale = exp(maximum - larger);
    maximum = larger;
    const float weight = seen ? exp(score - larger) : 0;
    sum = sum * rescale + weight;
    weights[id] = weight;
    barrier();
    [[unroll]] for (int i = 0; i < value_columns; i++) result[i] *= rescale;
    for (int j = slice; j < min(threads, end - s); j += slices) {
      const int v_row = v_base + (s + j) * args.source.v_stride;
      [[unroll]] for (int i = 0; i < value_columns; i++)
        result[i] += weights[j] * value_at(v_row + min(column + i * column_threads, value_width - 1));
    }
    barrier();
  }

  partial[id] = sum;
  barrier();
  for (int n = threads / 2; n > 0; n /= 2) {
    if (id < n) partial[id] += partial[id + n];
    barrier();
  }
  sum = partial[0];
  barrier();
  const int score_row = (batch * args.source.heads + head) * args.source.queries + t;
  const int row = split ? score_row * args.part_count + part
                        : (batch * args.source.queries + t) * args.source.heads + head;
  float normalise = 1;
  if (!split) {
    if (has_sinks) normalise = add_sink(args.sinks.v[head], maximum, sum);
    normalise *= reciprocal_of(sum);
  }
  [[unroll]] for (int i = 0; i < value_columns; i++) {
    partial[id] = result[i];
    barrier();
    const int c = column + i * column_threads;
    if ((split || (wanted & 1u) != 0) && slice == 0 && c < value_width) {
      float value = 0;
      for (int n = 0; n < slices; n++) value += partial[n * column_threads + column];
      args.result.v[row * value_width + c] = value * normalise;
    }
    barrier();
  }
  if (id == 0 && split) {
    args.log_sum_exp.v[2 * row] = maximum;
    args.log_sum_exp.v[2 * row + 1] = sum;
  } else if (id == 0 && (wanted & 2u) != 0) {
    args.log_sum_exp.v[score_row] = log_sum_exp_of(maximum, sum);
  }
}
