#version 460
// needs: cooperative_matrix
// needs bf16: bfloat16
// variant f16: -DHALF=1
// variant f16_through_floats: -DHALF=1 -DTHROUGH_FLOATS
// variant bf16: -DHALF=2 -DTHROUGH_FLOATS
// Attention forward on matrix cores: a subgroup computes ROWS queries of one head, the workgroup walks over the keys.
// Weights are powers of 2 of scores less their row's origin, which follows the row's maximum only when a score is far
// above it. They are rounded to 16 bits for the product with the values; sums are of those before.
#extension GL_GOOGLE_include_directive : require
#define ATTENTION_PUSH AttentionArgs
#include "shaders/attention/gpu/attention_matrix.glsl"

// An origin above hidden scores and below all others; how far above it a score may lie: weights stay below 2^8.
const float lowest_origin = -1e20, origin_slack = 8;

shared uint any_climbs;

void main() {
  const int groups = (args.source.queries + group_rows - 1) / group_rows;
  const int first = (groups - 1 - int(gl_WorkGroupID.x) / COLUMN_PARTS) * group_rows;  // the longest first
  const int part_column = int(gl_WorkGroupID.x) % COLUMN_PARTS * part_width;  // neighbours read the same keys
  const int head = int(gl_WorkGroupID.y);
  const int batch = int(gl_WorkGroupID.z);
  const int q_base = batch * args.source.queries * args.source.q_stride + head * head_width;
  const int k_base = batch * args.source.keys * args.source.k_stride + head / group() * head_width;
  const int v_base = batch * args.source.keys * args.source.v_stride + head / group() * value_width + part_column;
  const int row_base = (batch * args.source.heads + head) * args.source.queries;
  const int own_first = first + subgroup() * ROWS;
  const int shift = visible_shift(batch);
  const int last = min(first + group_rows, args.source.queries) - 1;
  const int begin = key_begin(shift, first) / 4 * 4, end = key_end(shift, last);  // dropout's factors come in fours
  // What all of them see.
  const int common_begin = key_begin(shift, last), common_end = key_end(shift, first);

  if (id() == 0) any_climbs = 0;
  stage_own(args.source.q, q_base, args.source.q_stride, first, args.source.queries, head_packs);
  barrier();
  FactorA q[head_steps];
  LOAD_OWN(q, head_steps, head_packs)
  barrier();

  Sums result[value_tiles];
  [[unroll]] for (int n = 0; n < value_tiles; n++) result[n] = Sums(0.0);
  Sums origin = Sums(lowest_origin);
  Sums sum = Sums(0.0);  // of every COLUMNS-th weight of a row

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
    Sums score[block_tiles];
    MULTIPLY_ROWS(score, q, head_steps, stage, head_stride)
    SCALE_SCORES(score)
    if (has_mask || has_bias || s < common_begin || s + BLOCK > common_end)
      ADD_OFFSETS(score, offsets_of_keys(batch, head, own_first + row, s + 4 * quad, shift))

    float above = 0;
    [[unroll]] for (int j = 0; j < block_tiles; j++)
      [[unroll]] for (int i = 0; i < origin.length(); i++) above = max(above, score[j][i] - origin[i]);
    bool climbs = subgroupAny(above > origin_slack);
    if (DEPTH < 16) {  // barriers follow: all subgroups or none
      if (climbs) any_climbs = 1;
      barrier();
      climbs = any_climbs != 0;
      barrier();
      if (id() == 0) any_climbs = 0;
    }
    if (climbs) {
      [[unroll]] for (int j = 0; j < block_tiles; j++)
        coopMatStore(score[j], staged, strip() + j * COLUMNS / 4, strip_stride, by_rows);
      subgroupBarrier();
      for (int row = lane(); row < ROWS; row += SUBGROUP) {
        const int at = strip() + row * strip_stride;
        vec4 larger = vec4(hidden);
        for (int quad = 0; quad < strip_quads; quad++) larger = max(larger, uintBitsToFloat(staged[at + quad]));
        larger = vec4(max(max(larger.x, larger.y), max(larger.z, larger.w)));
        [[unroll]] for (int quad = 0; quad < COLUMNS / 4; quad++) staged[at + quad] = floatBitsToUint(larger);
      }
      subgroupBarrier();
      Sums larger, factor;
      LOAD_TILE(larger, strip(), 0);
      EACH(larger, i, max(larger[i], origin[i]))
      EACH(factor, i, exp2(origin[i] - larger[i]))
      origin = larger;
      sum = sum * factor;
      [[unroll]] for (int c = 0; c < value_tiles; c++) result[c] = result[c] * factor;
      subgroupBarrier();
    }

    [[unroll]] for (int j = 0; j < block_tiles; j++) {
      EACH(score[j], i, exp2(score[j][i] - origin[i]))
      sum = sum + score[j];
    }
    if (has_dropout) {  // those kept are scaled at the end: 16 bits would not hold what large factors make of them
      FILL_STRIP(vec4(greaterThan(kept(row_base + own_first + row, s / 4 + quad), vec4(0))))
      [[unroll]] for (int j = 0; j < block_tiles; j++) {
        Sums keep;
        LOAD_TILE(keep, strip(), j);
        score[j] = score[j] * keep;
      }
      subgroupBarrier();
    }
    ADD_WEIGHTED(result, value_tiles, score, stage + values_at, value_stride)
    if (STAGES > 1) stage = stage_packs - stage;
  }
  subgroupBarrier();

  coopMatStore(sum, staged, strip(), strip_stride, by_rows);
  coopMatStore(origin, staged, strip() + COLUMNS / 4, strip_stride, by_rows);
  subgroupBarrier();
  for (int row = lane(); row < ROWS; row += SUBGROUP) {
    const int at = strip() + row * strip_stride;
    float total = 0;
    [[unroll]] for (int quad = 0; quad < COLUMNS / 4; quad++)
      total += dot(uintBitsToFloat(staged[at + quad]), vec4(1));
    float maximum = uintBitsToFloat(staged[at + COLUMNS / 4].x) / log2_e;
    float factor = has_dropout ? 1 / (1 - args.source.dropout) : 1;
    if (has_sinks) factor *= add_sink(args.sinks.v[head], maximum, total);
    factor *= reciprocal_of(total);
    if ((wanted & 2u) != 0 && part_column == 0 && own_first + row < args.source.queries)
      args.log_sum_exp.v[row_base + own_first + row] = log_sum_exp_of(maximum, total);
    [[unroll]] for (int quad = 0; quad < COLUMNS / 4; quad++) staged[at + quad] = floatBitsToUint(vec4(factor));
  }
  subgroupBarrier();
  if ((wanted & 1u) == 0) return;
  Sums factor;
  LOAD_TILE(factor, strip(), 0);
  [[unroll]] for (int n = 0; n < value_tiles; n++) result[n] = result[n] * factor;
  subgroupBarrier();
  const int stride = args.source.heads * value_width;
  STORE_OWN(args.result, batch * args.source.queries * stride + head * value_width + part_column, stride, first,
            args.source.queries, result, value_tiles)
}
