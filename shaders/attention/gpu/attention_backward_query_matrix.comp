#version 460
// needs: cooperative_matrix
// needs bf16: bfloat16
// variant f16: -DHALF=1
// variant f16_through_floats: -DHALF=1 -DTHROUGH_FLOATS
// variant bf16: -DHALF=2 -DTHROUGH_FLOATS
// Gradient of the queries on matrix cores: a subgroup computes ROWS queries of one head, the workgroup walks over the
// keys; the weights are computed again from log_sum_exp. The scores' gradients are rounded to 16 bits.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBackwardArgs
#include "shaders/attention/gpu/attention_matrix.glsl"

void main() {
  const int groups = (args.source.queries + group_rows - 1) / group_rows;
  const int first = (groups - 1 - int(gl_WorkGroupID.x)) * group_rows;  // the longest first
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int q_base = batch * args.source.queries * args.source.q_stride + head * head_width;
  const int k_base = batch * args.source.keys * args.source.k_stride + head / group() * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + head / group() * value_width;
  const int up_stride = args.source.heads * value_width;
  const int up_base = batch * args.source.queries * up_stride + head * value_width;
  const int row_base = (batch * args.source.heads + head) * args.source.queries;
  const int own_first = first + subgroup() * ROWS;
  const int shift = visible_shift();
  const int last = min(first + group_rows, args.source.queries) - 1;
  const int begin = key_begin(shift, first) / 4 * 4, end = key_end(shift, last);  // dropout's factors come in fours
  // What all of them see.
  const int common_begin = key_begin(shift, last), common_end = key_end(shift, first);

  FactorA q[head_steps], up[value_steps];
  stage_own(args.source.q, q_base, args.source.q_stride, first, args.source.queries, head_packs);
  barrier();
  LOAD_OWN(q, head_steps, head_packs)
  barrier();
  stage_own(args.upstream, up_base, up_stride, first, args.source.queries, value_packs);
  barrier();
  LOAD_OWN(up, value_steps, value_packs)
  barrier();
  for (int row = lane(); row < ROWS; row += SUBGROUP) {
    const vec2 terms = FloatPairs(args.terms).v[row_base + min(own_first + row, args.source.queries - 1)];
    const int at = strip() + row * strip_stride;
    [[unroll]] for (int quad = 0; quad < COLUMNS / 4; quad++) {
      staged[at + quad] = floatBitsToUint(vec4(terms.x * log2_e));
      staged[at + COLUMNS / 4 + quad] = floatBitsToUint(vec4(terms.y));
    }
  }
  subgroupBarrier();
  Sums log_sum_exp, delta;
  LOAD_TILE(log_sum_exp, strip(), 0);
  LOAD_TILE(delta, strip(), 1);

  Sums gradient[head_tiles];
  [[unroll]] for (int n = 0; n < head_tiles; n++) gradient[n] = Sums(0.0);

  // A block is staged and the next (or the last row again) sent for, then it is used.
  uvec4 next_k[head_loads], next_v[value_loads];
#define LOAD_NEXT(s)                                                                                \
  LOAD_BLOCK(next_k, head_loads, head_packs, args.source.k, k_base, args.source.k_stride, s, end)   \
  LOAD_BLOCK(next_v, value_loads, value_packs, args.source.v, v_base, args.source.v_stride, s, end)
  LOAD_NEXT(begin)
  int stage = 0;
  [[dont_unroll]] for (int s = begin; s < end; s += BLOCK) {
    if (STAGES == 1) barrier();
    STORE_BLOCK(next_k, head_loads, head_packs, stage)
    STORE_BLOCK(next_v, value_loads, value_packs, stage + values_at)
    barrier();
    LOAD_NEXT(s + BLOCK)
    Sums score[block_tiles], slope[block_tiles], bend[block_tiles];
    MULTIPLY_ROWS(score, q, head_steps, stage, head_stride)
    SCALE_SCORES(score)
    if (has_softcap)
      [[unroll]] for (int j = 0; j < block_tiles; j++) { EACH(bend[j], i, slope_of(score[j][i])) }
    if (has_mask || has_bias || s < common_begin || s + BLOCK > common_end)
      ADD_OFFSETS(score, offsets_of_keys(batch, head, own_first + row, s + 4 * quad, shift))

    MULTIPLY_ROWS(slope, up, value_steps, stage + values_at, value_stride)
    if (has_dropout) {
      FILL_STRIP(kept(row_base + own_first + row, s / 4 + quad))
      [[unroll]] for (int j = 0; j < block_tiles; j++) {
        Sums keep;
        LOAD_TILE(keep, strip(), j);
        slope[j] = slope[j] * keep;
      }
      subgroupBarrier();
    }
    [[unroll]] for (int j = 0; j < block_tiles; j++) {
      EACH(slope[j], i, exp2(score[j][i] - log_sum_exp[i]) * (slope[j][i] - delta[i]))
      if (has_softcap) slope[j] = slope[j] * bend[j];
    }
    ADD_WEIGHTED(gradient, head_tiles, slope, stage, head_stride)
    if (STAGES > 1) stage = stage_packs - stage;
  }
  subgroupBarrier();

  [[unroll]] for (int n = 0; n < head_tiles; n++) gradient[n] = gradient[n] * args.source.scale;
  STORE_OWN(args.target, q_base, args.source.q_stride, first, args.source.queries, gradient, head_tiles)
}
