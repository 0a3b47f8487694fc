// For matrix cores: products of 16-bit operands, summed in f32. Each subgroup owns ROWS rows (queries, or keys), whose
// scores and results it holds as matrices of sums; the workgroup walks over the other side in blocks of BLOCK rows,
// staged for all of its subgroups. Which lane holds which element of a matrix is not known: what depends on rows and
// columns goes through the subgroup's strip of shared memory, ROWS x BLOCK floats, and weights become operands there.
//
// With -DTHROUGH_FLOATS no matrix of sums is of 16 bits, which not all devices have (NVIDIA not of bf16): lanes round
// them in the strip.
//
// On the one driver that offers products of a depth under 16, a software driver, barriers of subgroups are those of the
// workgroup: all subgroups must meet as many.
#include "shaders/common/cooperative_matrix.glsl"
#extension GL_KHR_shader_subgroup_vote : require
#include "shaders/attention/attention.glsl"
#include "shaders/common/half.glsl"

layout(constant_id = 0) const uint INVOCATIONS = 128;
layout(constant_id = ATTENTION_EXTRA) const int SUBGROUP = 32;
layout(constant_id = ATTENTION_EXTRA + 1) const int ROWS = 16;
layout(constant_id = ATTENTION_EXTRA + 2) const int COLUMNS = 16;
layout(constant_id = ATTENTION_EXTRA + 3) const int DEPTH = 16;
layout(constant_id = ATTENTION_EXTRA + 4) const int BLOCK = 64;
layout(constant_id = ATTENTION_EXTRA + 5) const int STAGES = 1;  // blocks in shared memory; two need one barrier a block
// Of a value's columns; a workgroup sums those of one part. Wide heads have more sums than registers hold.
layout(constant_id = ATTENTION_EXTRA + 6) const int COLUMN_PARTS = 1;

const int threads = int(INVOCATIONS), subgroups = threads / SUBGROUP;
const int group_rows = subgroups * ROWS;

#define Sums coopmat<float, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>
#ifndef THROUGH_FLOATS
#define Halved coopmat<ELEMENT, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>
#endif
#define FactorA coopmat<ELEMENT, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA>
#define FactorB coopmat<ELEMENT, gl_ScopeSubgroup, DEPTH, COLUMNS, gl_MatrixUseB>
const int by_rows = gl_CooperativeMatrixLayoutRowMajor, by_columns = gl_CooperativeMatrixLayoutColumnMajor;

// Tiles of a strip, of a head and of a value's part; products along them.
const int part_width = value_width / COLUMN_PARTS;
const int block_tiles = BLOCK / COLUMNS, head_tiles = head_width / COLUMNS, value_tiles = part_width / COLUMNS;
const int block_steps = BLOCK / DEPTH, head_steps = head_width / DEPTH, value_steps = part_width / DEPTH;

// Shared memory, in packs of 8 halves or 4 floats: STAGES blocks of rows of heads (k, or q) and of values (v, or the
// gradient of results), then the strips. One more pack a row keeps rows in other banks.
const int head_packs = head_width / 8, value_packs = part_width / 8;
const int head_stride = head_packs + 1, value_stride = value_packs + 1;
const int values_at = BLOCK * head_stride, stage_packs = values_at + BLOCK * value_stride;
const int strip_quads = BLOCK / 4, strip_stride = strip_quads + 1, strip_packs = BLOCK / 8;
#ifndef VECTOR_TILES
#define VECTOR_TILES 0 /* tiles of a strip's size beside each stage */
#endif
const int vectors_at = STAGES * stage_packs, vectors_packs = VECTOR_TILES * ROWS * strip_stride;
const int strips_at = vectors_at + STAGES * vectors_packs;
const int walk_packs = strips_at + group_rows * strip_stride;
// Before the walk: the workgroup's own rows.
const int own_packs = group_rows * (head_stride > value_stride ? head_stride : value_stride);
shared uvec4 staged[walk_packs > own_packs ? walk_packs : own_packs];

// Loads of an invocation for each block.
const int head_loads = (BLOCK * head_packs + threads - 1) / threads;
const int value_loads = (BLOCK * value_packs + threads - 1) / threads;

const float log2_e = 1.4426950408889634;
// Instead of a score that is hidden: its power of 2 is 0, whatever a row's origin is.
const float hidden = -1e30;

int id() { return int(gl_LocalInvocationIndex); }
int lane() { return int(gl_SubgroupInvocationID); }
int subgroup() { return int(gl_SubgroupID); }
int strip() { return strips_at + subgroup() * ROWS * strip_stride; }

// Eight columns of a row, of the last row from `end` on: weights there are 0, and nothing is done to what is loaded
// before it is staged. (Compilers wait for a load where its value is first touched, NVIDIA's before it sends for the next.)
uvec4 load_pack(Reals from, int base, int stride, int row, int pack, int end) {
  return HalfPacks(from).v[uint(base + min(row, max(end - 1, 0)) * stride) / 8 + pack];
}

// What load `i` of this invocation brings of a block, (pack, row). The last may bring nothing.
ivec2 slot(int i, const int packs) {
  const int e = i * threads + id();
  return ivec2(e % packs, e / packs);
}
bool fills(int i, const int packs) { return BLOCK * packs % threads == 0 || i * threads + id() < BLOCK * packs; }

#define LOAD_BLOCK(values, loads, packs, from, base, stride, first, end)                   \
  [[unroll]] for (int i = 0; i < loads; i++) {                                             \
    const ivec2 at = slot(i, packs);                                                       \
    values[i] = load_pack(from, base, stride, first + at.y, at.x, end);                    \
  }
#define STORE_BLOCK(values, loads, packs, place)                                           \
  [[unroll]] for (int i = 0; i < loads; i++) {                                             \
    const ivec2 at = slot(i, packs);                                                       \
    if (fills(i, packs)) staged[place + at.y * (packs + 1) + at.x] = values[i];            \
  }

// The workgroup's rows from `first` on, to the beginning of shared memory. Barriers around it are the caller's.
void stage_own(Reals from, int base, int stride, int first, int end, const int packs) {
  for (int e = id(); e < group_rows * packs; e += threads)
    staged[e / packs * (packs + 1) + e % packs] = load_pack(from, base, stride, first + e / packs, e % packs, end);
}
// Those of this subgroup as operands A.
#define LOAD_OWN(own, steps, packs)        \
  [[unroll]] for (int d = 0; d < steps; d++) \
    coopMatLoad(own[d], staged, subgroup() * ROWS * (packs + 1) + d * DEPTH / 8, packs + 1, by_rows);

// Tiles of sums to the strip, from its beginning on: a strip's worth, or what there is. The loop's end is a constant:
// NVIDIA's compiler would keep sums that a loop which it does not unroll picks from in memory, and store them there in
// each block.
#define STORE_TILES(sums, first_tile, tiles)                                                                       \
  [[unroll]] for (int j = 0; j < block_tiles; j++)                                                                 \
    if (first_tile + j < tiles)                                                                                    \
      coopMatStore(sums[first_tile + j], staged, strip() + j * COLUMNS / 4, strip_stride, by_rows);

uvec4 rounded(vec4 low, vec4 high) {
  return uvec4(pack_halves(low.xy), pack_halves(low.zw), pack_halves(high.xy), pack_halves(high.zw));
}
// Eight columns of a row of the strip, rounded to 16 bits.
uvec4 rounded_pack(int row, int pack) {
  const int at = strip() + row * strip_stride + 2 * pack;
  return rounded(uintBitsToFloat(staged[at]), uintBitsToFloat(staged[at + 1]));
}

// Rows of results, each subgroup's own, back to memory: four strips hold the widest. Not a loop over strips: compilers
// that do not unroll loops around loops would put all sums into memory.
#define STORE_OWN(to, base, stride, first, end, results, tiles)                                                    \
  STORE_STRIP(0, to, base, stride, first, end, results, tiles)                                                     \
  STORE_STRIP(block_tiles, to, base, stride, first, end, results, tiles)                                           \
  STORE_STRIP(2 * block_tiles, to, base, stride, first, end, results, tiles)                                       \
  STORE_STRIP(3 * block_tiles, to, base, stride, first, end, results, tiles)
#define STORE_STRIP(tile, to, base, stride, first, end, results, tiles)                                            \
  if (tile < tiles) {                                                                                              \
    const int count = min(block_tiles, tiles - tile), width = count * COLUMNS / 8;                                 \
    STORE_TILES(results, tile, tiles)                                                                              \
    subgroupBarrier();                                                                                             \
    for (int e = lane(); e < ROWS * width; e += SUBGROUP) {                                                        \
      const int own = e / width, pack = e % width, row = first + subgroup() * ROWS + own;                          \
      if (row < end)                                                                                               \
        HalfPacks(to).v[(base + row * stride) / 8 + tile * COLUMNS / 8 + pack] = rounded_pack(own, pack);          \
    }                                                                                                              \
    subgroupBarrier();                                                                                             \
  }

// sums = own rows * transpose(a staged block's)
#define MULTIPLY_ROWS(sums, own, steps, place, stride)                                                  \
  [[unroll]] for (int j = 0; j < block_tiles; j++) {                                                    \
    sums[j] = Sums(0.0);                                                                                \
    [[unroll]] for (int d = 0; d < steps; d++) {                                                        \
      FactorB b;                                                                                        \
      coopMatLoad(b, staged, place + j * COLUMNS * stride + d * DEPTH / 8, stride, by_columns);         \
      sums[j] = coopMatMulAdd(own[d], b, sums[j]);                                                      \
    }                                                                                                   \
  }

// Weights to the strip, as 16-bit values in rows of `weight_stride` packs.
#ifdef THROUGH_FLOATS
const int weight_stride = strip_stride;
#define STORE_WEIGHTS(weights)                                                                          \
  STORE_TILES(weights, 0, block_tiles)                                                                  \
  subgroupBarrier();                                                                                    \
  round_strip();
// In place: all lanes that share a row have read it before one writes.
void round_strip() {
  for (int first = 0; first < ROWS * strip_packs; first += SUBGROUP) {
    const int e = first + lane(), row = min(e / strip_packs, ROWS - 1), pack = e % strip_packs;
    const uvec4 bits = rounded_pack(row, pack);
    subgroupBarrier();
    if (e < ROWS * strip_packs) staged[strip() + row * strip_stride + pack] = bits;
  }
}
#else
const int weight_stride = strip_packs + 1;
#define STORE_WEIGHTS(weights)                                                                          \
  [[unroll]] for (int j = 0; j < block_tiles; j++)                                                      \
    coopMatStore(Halved(weights[j]), staged, strip() + j * COLUMNS / 8, weight_stride, by_rows);
#endif

// sums += weights, which are written to the strip as 16-bit values, * a staged block
#define ADD_WEIGHTED(sums, tiles, weights, place, stride)                                               \
  STORE_WEIGHTS(weights)                                                                                \
  subgroupBarrier();                                                                                    \
  [[unroll]] for (int d = 0; d < block_steps; d++) {                                                    \
    FactorA a;                                                                                          \
    coopMatLoad(a, staged, strip() + d * DEPTH / 8, weight_stride, by_rows);                            \
    [[unroll]] for (int n = 0; n < tiles; n++) {                                                        \
      FactorB b;                                                                                        \
      coopMatLoad(b, staged, place + d * DEPTH * stride + n * COLUMNS / 8, stride, by_rows);            \
      sums[n] = coopMatMulAdd(a, b, sums[n]);                                                           \
    }                                                                                                   \
  }

// Tile `j` of a strip, or of tiles like it.
#define LOAD_TILE(sums, place, j) coopMatLoad(sums, staged, place + (j) * COLUMNS / 4, strip_stride, by_rows)

// sums[i] = value, of every element of a matrix
#define EACH(sums, i, value) \
  [[unroll]] for (int i = 0; i < sums.length(); i++) sums[i] = value;

// The strip's floats, four at a time, by `row` and `quad`.
#define FILL_STRIP(value)                                                                \
  for (int e = lane(); e < ROWS * strip_quads; e += SUBGROUP) {                          \
    const int row = e / strip_quads, quad = e % strip_quads;                             \
    staged[strip() + row * strip_stride + quad] = floatBitsToUint(value);                \
  }                                                                                      \
  subgroupBarrier();

// From products of queries and keys to scores without what is added, in powers of 2.
#define SCALE_SCORES(score)                                              \
  [[unroll]] for (int j = 0; j < block_tiles; j++) {                     \
    if (has_softcap) {                                                   \
      EACH(score[j], i, power_of(score[j][i]))                           \
    } else {                                                             \
      score[j] = score[j] * (args.source.scale * log2_e);                \
    }                                                                    \
  }

// What is added to them, `value`, by `row` and `quad`: a bias, or `hidden`.
#define ADD_OFFSETS(score, value)                                                    \
  {                                                                                  \
    FILL_STRIP(value)                                                                \
    [[unroll]] for (int j = 0; j < block_tiles; j++) {                               \
      Sums offset;                                                                   \
      LOAD_TILE(offset, strip(), j);                                                 \
      EACH(score[j], i, offset[i] == hidden ? hidden : score[j][i] + offset[i])      \
    }                                                                                \
    subgroupBarrier();                                                               \
  }

float power_of(float product) {
  return args.source.softcap * log2_e * tanh_of(capped(product * args.source.scale));
}
// Derivative of the score by the product, with a softcap.
float slope_of(float power) {
  const float bent = power / (args.source.softcap * log2_e);
  return 1 - bent * bent;
}

float offset_of(int batch, int head, int t, int s, int shift, int end) {
  const float added = has_bias ? bias_of(batch, head, t, s) * log2_e : 0;
  return visible(batch, t, s, shift, end) ? added : hidden;
}
// Of query t and keys s .. s + 3.
vec4 offsets_of_keys(int batch, int head, int t, int s, int shift) {
  const int end = key_end(shift, t);
  vec4 quad;
  [[unroll]] for (int i = 0; i < 4; i++) quad[i] = offset_of(batch, head, t, s + i, shift, end);
  return quad;
}
