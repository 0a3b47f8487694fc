#version 460
// needs: cooperative_matrix
// needs bf16: bfloat16
// variant f16: -DHALF=1
// variant f16_through_floats: -DHALF=1 -DTHROUGH_FLOATS
// variant bf16: -DHALF=2 -DTHROUGH_FLOATS
// Gradients of keys and values on matrix cores: a subgroup computes ROWS keys of one key head, the workgroup walks over
// the queries of all heads that share it, in order. Scores lie transposed: a row is a key, a column a query. Of wide
// heads registers hold one of the two gradients, and a dispatch computes no other.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionBackwardArgs
#define VECTOR_TILES 2 /* log_sum_exp and delta of the staged queries, the same in every row */
#include "shaders/attention/gpu/attention_matrix.glsl"

const int delta_at = ROWS * strip_stride;
const bool wants_k = (wanted & 1u) != 0, wants_v = (wanted & 2u) != 0;

// What is added to the scores of queries t .. t + 3 and key s; no key is seen by queries past the end.
vec4 offsets_of_queries(int batch, int head, int t, int s, int shift) {
  vec4 quad;
  [[unroll]] for (int i = 0; i < 4; i++) {
    const int end = t + i < args.source.queries ? key_end(shift, t + i) : 0;
    quad[i] = offset_of(batch, head, t + i, s, shift, end);
  }
  return quad;
}

void main() {
  const int first = int(gl_WorkGroupID.x) * group_rows;
  const int key_head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int q_batch = batch * args.source.queries * args.source.q_stride;
  const int k_base = batch * args.source.keys * args.source.k_stride + key_head * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + key_head * value_width;
  const int up_stride = args.source.heads * value_width;
  const int up_batch = batch * args.source.queries * up_stride;
  const int own_first = first + subgroup() * ROWS;
  const int shift = visible_shift();
  const int last = min(first + group_rows, args.source.keys) - 1;
  const int begin = first_query(shift, first), end = query_end(shift, last);
  // Those that see all of them.
  const int common_begin = first_query(shift, last), common_end = query_end(shift, first);

  FactorA k[head_steps], v[value_steps];
  stage_own(args.source.k, k_base, args.source.k_stride, first, args.source.keys, head_packs);
  barrier();
  LOAD_OWN(k, head_steps, head_packs)
  barrier();
  if (wants_k) {
    stage_own(args.source.v, v_base, args.source.v_stride, first, args.source.keys, value_packs);
    barrier();
    LOAD_OWN(v, value_steps, value_packs)
    barrier();
  }

  Sums gradient_k[head_tiles], gradient_v[value_tiles];
  [[unroll]] for (int n = 0; n < head_tiles; n++) gradient_k[n] = Sums(0.0);
  [[unroll]] for (int n = 0; n < value_tiles; n++) gradient_v[n] = Sums(0.0);

  // A block is staged and the next (or the last again) sent for, then it is used.
  const int blocks_of_head = max(end - begin + BLOCK - 1, BLOCK) / BLOCK;
  const int blocks = end > begin ? group() * blocks_of_head : 0;
  uvec4 next_q[head_loads], next_up[value_loads];
  vec2 next_terms[4];
#define LOAD_NEXT(n)                                                                                          \
  {                                                                                                           \
    const int block = min(n, group() * blocks_of_head - 1);                                                   \
    const int head = key_head * group() + block / blocks_of_head, t = begin + block % blocks_of_head * BLOCK; \
    const int q_base = q_batch + head * head_width, up_base = up_batch + head * value_width;                  \
    LOAD_BLOCK(next_q, head_loads, head_packs, args.source.q, q_base, args.source.q_stride, t, end)           \
    LOAD_BLOCK(next_up, value_loads, value_packs, args.upstream, up_base, up_stride, t, end)                  \
    const int row_base = (batch * args.source.heads + head) * args.source.queries;                            \
    [[unroll]] for (int i = 0; i < 4; i++) {                                                                  \
      const int query = min(t + id() % strip_quads * 4 + i, args.source.queries - 1);                         \
      next_terms[i] = FloatPairs(args.terms).v[row_base + query];                                             \
    }                                                                                                         \
  }
  LOAD_NEXT(0)
  int stage = 0, vectors = vectors_at;
  [[dont_unroll]] for (int n = 0; n < blocks; n++) {
    const int head = key_head * group() + n / blocks_of_head, t = begin + n % blocks_of_head * BLOCK;
    if (STAGES == 1) barrier();
    STORE_BLOCK(next_q, head_loads, head_packs, stage)
    STORE_BLOCK(next_up, value_loads, value_packs, stage + values_at)
    for (int row = id() / strip_quads; row < ROWS; row += threads / strip_quads) {
      const int at = vectors + row * strip_stride + id() % strip_quads;
      vec4 log_sum_exp, delta;
      [[unroll]] for (int i = 0; i < 4; i++) {
        log_sum_exp[i] = next_terms[i].x * log2_e;
        delta[i] = next_terms[i].y;
      }
      staged[at] = floatBitsToUint(log_sum_exp);
      staged[at + delta_at] = floatBitsToUint(delta);
    }
    barrier();
    LOAD_NEXT(n + 1)
    Sums score[block_tiles], slope[block_tiles], bend[block_tiles];
    MULTIPLY_ROWS(score, k, head_steps, stage, head_stride)
    SCALE_SCORES(score)
    if (has_softcap && wants_k)
      [[unroll]] for (int j = 0; j < block_tiles; j++) { EACH(bend[j], i, slope_of(score[j][i])) }
    if (has_mask || has_bias || t < common_begin || t + BLOCK > common_end)
      ADD_OFFSETS(score, offsets_of_queries(batch, head, t + 4 * quad, own_first + row, shift))

    if (wants_k) {
      MULTIPLY_ROWS(slope, v, value_steps, stage + values_at, value_stride)
    }
    if (has_dropout) {  // factors of four keys, which are four rows
      const int row_base = (batch * args.source.heads + head) * args.source.queries;
      for (int e = lane(); e < ROWS / 4 * BLOCK; e += SUBGROUP) {
        const int row = e / BLOCK * 4, query = e % BLOCK;
        const uvec4 factors = floatBitsToUint(kept(row_base + t + query, (own_first + row) / 4));
        [[unroll]] for (int i = 0; i < 4; i++)
          staged[strip() + (row + i) * strip_stride + query / 4][query % 4] = factors[i];
      }
      subgroupBarrier();
    }
    [[unroll]] for (int j = 0; j < block_tiles; j++) {
      Sums log_sum_exp, delta, keep;
      LOAD_TILE(log_sum_exp, vectors, j);
      EACH(score[j], i, exp2(score[j][i] - log_sum_exp[i]))
      if (has_dropout) LOAD_TILE(keep, strip(), j);
      if (wants_k) {
        LOAD_TILE(delta, vectors + delta_at, j);
        slope[j] = score[j] * ((has_dropout ? slope[j] * keep : slope[j]) - delta);
        if (has_softcap) slope[j] = slope[j] * bend[j];
      }
      if (has_dropout) score[j] = score[j] * keep;
    }
    if (has_dropout) subgroupBarrier();
    if (wants_v) {
      ADD_WEIGHTED(gradient_v, value_tiles, score, stage + values_at, value_stride)
      subgroupBarrier();
    }
    if (wants_k) {
      ADD_WEIGHTED(gradient_k, head_tiles, slope, stage, head_stride)
    }
    if (STAGES > 1) {
      stage = stage_packs - stage;
      vectors = 2 * vectors_at + vectors_packs - vectors;
    }
  }
  subgroupBarrier();

  if (wants_k) {
    [[unroll]] for (int n = 0; n < head_tiles; n++) gradient_k[n] = gradient_k[n] * args.source.scale;
    STORE_OWN(args.target, k_base, args.source.k_stride, first, args.source.keys, gradient_k, head_tiles)
  }
  if (wants_v) {
    STORE_OWN(args.target_v, v_base, args.source.v_stride, first, args.source.keys, gradient_v, value_tiles)
  }
}
