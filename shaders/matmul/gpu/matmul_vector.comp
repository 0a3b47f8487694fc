#version 460
// variant f32:
// variant f32_summed: -DSUMMED
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_f16_summed: -DSUMMED -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// variant f32_bf16_summed: -DSUMMED -DHALF=2 -DB_HALF
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// variant f32_q8_0: -DBLOCKS=BLOCKS_Q8_0
// variant f32_q8_0_summed: -DSUMMED -DBLOCKS=BLOCKS_Q8_0
// variant f32_q4_0: -DBLOCKS=BLOCKS_Q4_0
// variant f32_q4_0_summed: -DSUMMED -DBLOCKS=BLOCKS_Q4_0
// variant f32_q4_1: -DBLOCKS=BLOCKS_Q4_1
// variant f32_q4_1_summed: -DSUMMED -DBLOCKS=BLOCKS_Q4_1
// variant f32_q5_0: -DBLOCKS=BLOCKS_Q5_0
// variant f32_q5_0_summed: -DSUMMED -DBLOCKS=BLOCKS_Q5_0
// variant f32_q5_1: -DBLOCKS=BLOCKS_Q5_1
// variant f32_q5_1_summed: -DSUMMED -DBLOCKS=BLOCKS_Q5_1
// variant f32_q2_k: -DBLOCKS=BLOCKS_Q2_K
// variant f32_q2_k_summed: -DSUMMED -DBLOCKS=BLOCKS_Q2_K
// variant f32_q3_k: -DBLOCKS=BLOCKS_Q3_K
// variant f32_q3_k_summed: -DSUMMED -DBLOCKS=BLOCKS_Q3_K
// variant f32_q4_k: -DBLOCKS=BLOCKS_Q4_K
// variant f32_q4_k_summed: -DSUMMED -DBLOCKS=BLOCKS_Q4_K
// variant f32_q5_k: -DBLOCKS=BLOCKS_Q5_K
// variant f32_q5_k_summed: -DSUMMED -DBLOCKS=BLOCKS_Q5_K
// variant f32_q6_k: -DBLOCKS=BLOCKS_Q6_K
// variant f32_q6_k_summed: -DSUMMED -DBLOCKS=BLOCKS_Q6_K
// variant f32_iq4_nl: -DBLOCKS=BLOCKS_IQ4_NL
// variant f32_iq4_nl_summed: -DSUMMED -DBLOCKS=BLOCKS_IQ4_NL
// variant f32_iq4_xs: -DBLOCKS=BLOCKS_IQ4_XS
// variant f32_iq4_xs_summed: -DSUMMED -DBLOCKS=BLOCKS_IQ4_XS
// variant f32_mxfp4: -DBLOCKS=BLOCKS_MXFP4
// variant f32_mxfp4_summed: -DSUMMED -DBLOCKS=BLOCKS_MXFP4
// Product of a few rows (ROWS = M) with a matrix, bound by reading the matrix once: decoding. Teams of invocations own
// COLUMNS columns of y each and cut K among themselves. With b transposed a team's invocations are neighbours and read
// 16 bytes each along K; otherwise teams are neighbours and read quads of columns in four rows of b at a time. Sums meet
// by shuffles inside subgroups, then in shared memory. NORM and GATED take in the ops before and after, see
// normed_product.h, SUMMED the sum of a token's experts, see expert_product.h.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/gpu/matmul_vector.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 256;
layout(constant_id = 1) const uint ACTIVATION = 0;
layout(constant_id = 2) const uint ROWS = 1;
layout(constant_id = 3) const bool TRANSPOSE_B = false;
layout(constant_id = 4) const bool ALIGNED_A = false;  // the rows of a start at whole quads; K is a multiple of GRAIN
layout(constant_id = 5) const bool ALIGNED_B = false;  // the stored rows of b start at whole loads
layout(constant_id = 6) const uint SUBGROUP = 1;       // invocations of a full one; 1: there are none
layout(constant_id = 7) const uint TEAM = 32;          // invocations, a power of two
layout(constant_id = 8) const uint COLUMNS = 1;        // of a team; 4 where b is not transposed
layout(constant_id = 9) const uint NORM = 0;           // MATMUL_NORM_*
layout(constant_id = 10) const uint NORMED_COLUMNS = 8;  // with NORM: K up to whole octets
layout(constant_id = 11) const bool GATED = false;       // b: N / 2 gates, then what they gate; y [M, N / 2]
layout(constant_id = 12) const bool CHOSEN = false;      // each product has a row of its own choice of b

PUSH(MatmulVectorArgs);
#define WITHOUT_PAIRS
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"

const uint TEAMS = THREADS / TEAM;
const uint OWN = GATED ? COLUMNS / 2 : COLUMNS;  // columns of y that a team has
// Invocations of a team whose sums meet by shuffles: neighbours with b transposed, otherwise TEAMS apart.
const uint FIRST_STEP = TRANSPOSE_B ? 1 : TEAMS, STEPS_END = TRANSPOSE_B && TEAM < SUBGROUP ? TEAM : SUBGROUP;
const uint MET = STEPS_END > FIRST_STEP ? STEPS_END / FIRST_STEP : 1;
const uint PARTS = TEAM / MET, VALUES = ROWS * COLUMNS;

// Subgroups are whole runs of these numbers.
uint invocation() {
  return SUBGROUP > 1 ? gl_SubgroupID * SUBGROUP + gl_SubgroupInvocationID : gl_LocalInvocationIndex;
}

shared float group_sums[PARTS * TEAMS * VALUES];  // [part][team][value]; or [subgroup][row] of normed_rows.glsl
#include "shaders/matmul/gpu/normed_rows.glsl"

#ifdef SUMMED
// Each y is a weighted sum of `slots` products, whose K lie one after the other: which matrices they have, and weights.
shared uint slot_matrices[MATMUL_MOST_SLOTS];
shared float slot_weights[MATMUL_MOST_SLOTS];
float one_over_k;
uint depth() { return args.slots * args.k; }
// k / K, exact for K to MATMUL_MOST_SUMMED_K: the sum of 1/2 keeps it further from whole numbers than it is wrong.
uint slot_of(uint k) { return uint((float(k) + 0.5) * one_over_k); }
uint place_of(uint k) { return k - slot_of(k) * args.k; }
uint matrix_of(uint matrix, uint k) { return slot_matrices[slot_of(k)]; }
float weight_of(uint k) { return slot_weights[slot_of(k)]; }
#else
#define depth() args.k
#define matrix_of(matrix, k) (matrix)
#define place_of(k) (k)
#define weight_of(k) 1.0
#endif

float sums[VALUES];  // [row][column]
uint first_column;   // of y, the workgroup's

// Four values of row `row` of a from k on, zeros past the end.
vec4 load_a(uint a_base, uint row, uint k) {
  if (NORM != 0) return normed[row * (NORMED_COLUMNS / 4) + normed_place(k / 4)];
  const uint at = a_base + row * args.k;
  if (ALIGNED_A) return a_quad((at + k) / 4);
  vec4 quad;
  [[unroll]] for (uint i = 0; i < 4; i++) quad[i] = k + i < depth() ? a_one(at + min(k + i, depth() - 1)) : 0.0;
  return quad;
}

// --- b transposed: 16 bytes of a row of b, as they are stored; past the row's end (`last`) the last element again ---

#ifdef BLOCKS
// Some more of their scales.
uint stored_row(uint matrix, uint row) { return (matrix * args.n + row) * block_row_words(args.k); }
Grain load_grain(uint row, uint k) {
  return load_grain(args.b_vectors, args.b, row, args.k / BLOCK_VALUES, k / GRAIN);
}
vec4 quad_of(Grain grain, uint k, uint i) { return grain_quad(grain, k / GRAIN, i); }
uint column_of(uint k, uint i) { return grain_column(k / GRAIN, i); }
#else
#ifdef B_HALF
#define GRAIN 8
#define Grain uvec4
vec4 quad_of(uvec4 grain, uint k, uint i) { return half_quad(i == 0 ? grain.xy : grain.zw); }
uvec4 gather(uint at, uint last) {
  uvec4 grain;
  [[unroll]] for (uint i = 0; i < 4; i++) {
    grain[i] = half_bits(args.b, min(at + 2 * i, last)) | half_bits(args.b, min(at + 2 * i + 1, last)) << 16;
  }
  return grain;
}
#else
#define GRAIN 4
#define Grain vec4
vec4 quad_of(vec4 grain, uint k, uint i) { return grain; }
vec4 gather(uint at, uint last) {
  vec4 grain;
  [[unroll]] for (uint i = 0; i < 4; i++) grain[i] = b_one(min(at + i, last));
  return grain;
}
#endif
uint stored_row(uint matrix, uint row) { return (matrix * args.n + row) * args.k; }
Grain load_grain(uint row, uint k) {
  return ALIGNED_B ? args.b_vectors.v[(row + k) / GRAIN] : gather(row + k, row + args.k - 1);
}
uint column_of(uint k, uint i) { return k + 4 * i; }
#endif

// Column `c` of the team, one that exists, as a row of b.
uint row_of_column(uint team, uint c) {
  const uint width = GATED ? args.n / 2 : args.n;
  return min(first_column + team * OWN + c % OWN, width - 1) + (c < OWN ? 0 : width);
}

// Whether loads are sent for before what they wait for: Adreno's subgroups of 128 have no registers to keep blocks.
#ifdef BLOCKS
const bool ahead = SUBGROUP <= 64;
#else
const bool ahead = true;
#endif

// In flight for each column. What is unpacked of blocks takes more registers.
#ifdef BLOCKS
const uint GRAINS = COLUMNS < 2 ? 2 : 1;
#else
const uint GRAINS = 4 / COLUMNS;
#endif
Grain grains[GRAINS * COLUMNS];

// A single row of a from memory is sent for with them.
const bool with_a = ROWS == 1 && NORM == 0 && GRAIN <= 8;
const uint QUADS = 2;  // of rows of b, in flight where it is not transposed
vec4 quads_of_a[!with_a ? 1 : TRANSPOSE_B ? GRAINS * GRAIN / 4 : QUADS];

// Sends for grains from k = `first` on, and for what they are multiplied with.
void load_grains(uint a_base, uint matrix, uint team, uint first) {
  [[unroll]] for (uint l = 0; l < GRAINS; l++) {
    const uint k = first + l * TEAM * GRAIN, at = k < depth() ? k : 0;
    [[unroll]] for (uint c = 0; c < COLUMNS; c++)
      grains[l * COLUMNS + c] = load_grain(stored_row(matrix_of(matrix, at), row_of_column(team, c)), place_of(at));
#if GRAIN <= 8  // as with_a says, but for compilers that unroll loops before they know that nothing needs them
    if (with_a)
      [[unroll]] for (uint i = 0; i < GRAIN / 4; i++)
        quads_of_a[with_a ? l * GRAIN / 4 + i : 0] = load_a(a_base, 0, column_of(at, i));
#endif
  }
}

void multiply_transposed(uint a_base, uint matrix, uint team, uint slice) {
  for (uint first = slice * GRAIN; first < depth();) {
    if (!ahead) load_grains(a_base, matrix, team, first);
    [[unroll]] for (uint l = 0; l < GRAINS; l++) {
      const uint k = first + l * TEAM * GRAIN;
      if (k >= depth()) continue;
      const float weight = weight_of(k);
      [[unroll]] for (uint i = 0; i < GRAIN / 4; i++) {
        vec4 a[ROWS];
        [[unroll]] for (uint r = 0; r < ROWS; r++)
          a[r] = weight * (with_a ? quads_of_a[with_a ? l * GRAIN / 4 + i : 0] : load_a(a_base, r, column_of(k, i)));
        [[unroll]] for (uint c = 0; c < COLUMNS; c++) {
          const vec4 quad = quad_of(grains[l * COLUMNS + c], k, i);
          [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r * COLUMNS + c] += dot(a[r], quad);
        }
      }
    }
    first += GRAINS * TEAM * GRAIN;
    if (ahead && first < depth()) load_grains(a_base, matrix, team, first);
  }
}

// --- b as it is: a quad of columns ---

#ifdef BLOCKS  // are read along their rows alone
void load_quads(uint a_base, uint matrix, uint team, uint first) {}
void multiply(uint a_base, uint matrix, uint team, uint slice) {}
#else
StoredB load_b(uint row_start, uint column) {
  const uint last = args.n - 1;
  if (ALIGNED_B) return b_stored((row_start + min(column, last - 3)) / 4);
  uint from[4];
  [[unroll]] for (uint i = 0; i < 4; i++) from[i] = row_start + min(column + i, last);
  return b_gathered(from);
}

StoredB quads_of_b[4 * QUADS];

void load_quads(uint a_base, uint matrix, uint team, uint first) {
  const uint b_base = matrix * args.k * args.n, column = first_column + 4 * team;
  [[unroll]] for (uint l = 0; l < QUADS; l++) {
    const uint k = first + l * 4 * TEAM;
    [[unroll]] for (uint i = 0; i < 4; i++)
      quads_of_b[4 * l + i] = load_b(b_base + min(k + i, args.k - 1) * args.n, column);
    if (with_a) quads_of_a[with_a ? l : 0] = load_a(a_base, 0, k < args.k ? k : 0);
  }
}

void multiply(uint a_base, uint matrix, uint team, uint slice) {
  vec4 quads[ROWS];
  [[unroll]] for (uint r = 0; r < ROWS; r++) quads[r] = vec4(0);
  for (uint first = 4 * slice; first < args.k;) {
    [[unroll]] for (uint l = 0; l < QUADS; l++) {
      const uint k = first + l * 4 * TEAM;
      if (k >= args.k) continue;
      mat4 b;
      [[unroll]] for (uint i = 0; i < 4; i++) b[i] = stored_values(quads_of_b[4 * l + i]);
      [[unroll]] for (uint r = 0; r < ROWS; r++)
        quads[r] += b * (with_a ? quads_of_a[with_a ? l : 0] : load_a(a_base, r, k));
    }
    first += QUADS * 4 * TEAM;
    if (first < args.k) load_quads(a_base, matrix, team, first);
  }
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    [[unroll]] for (uint c = 0; c < 4; c++) sums[r * COLUMNS + c] = quads[r][c];
  }
}
#endif

// The team's sum, all its parts in order.
float sum_of(uint team, uint value) {
  float sum = 0;
  for (uint p = 0; p < PARTS; p++) sum += group_sums[(p * TEAMS + team) * VALUES + value];
  return sum;
}

// What an invocation finishes: an output, the sums' team and value.
const uint OUTPUTS = (ROWS * TEAMS * OWN + THREADS - 1) / THREADS;
struct Output {
  bool exists;
  uint row, column, team, value;
};
Output output_of(uint o, uint id) {
  const uint i = id + o * THREADS, row = i / (TEAMS * OWN), own = i % (TEAMS * OWN), column = first_column + own;
  const uint width = GATED ? args.n / 2 : args.n;
  return Output(row < ROWS && column < width, row, column, own / OWN, row * COLUMNS + own % OWN);
}

void main() {
  const uint id = invocation();
  const uint width = GATED ? args.n / 2 : args.n, groups = (width + TEAMS * OWN - 1) / (TEAMS * OWN);
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= groups * args.batch) return;
  const uint product = group / groups;
#ifdef SUMMED
  const uint a_base = product * depth(), matrix = 0;
#else
  const uint a_base = (CHOSEN ? product / args.slots : product) * ROWS * args.k;
  const uint matrix = CHOSEN ? uint(args.chosen.v[product]) : product;
#endif
  const uint own_team = TRANSPOSE_B ? id / TEAM : id % TEAMS, slice = TRANSPOSE_B ? id % TEAM : id / TEAMS;
  first_column = group % groups * TEAMS * OWN;
#ifdef SUMMED
  one_over_k = 1.0 / float(args.k);
  if (id < args.slots) {
    slot_matrices[id] = uint(args.chosen.v[product * args.slots + id]);
    slot_weights[id] = args.gain.v[product * args.slots + id];
  }
  barrier();
#endif

  // All that no sum is needed for is sent for first: a product of one row takes as long as what it waits for.
  float biases[OUTPUTS], gate_biases[OUTPUTS], residuals[OUTPUTS];
  [[unroll]] for (uint o = 0; o < OUTPUTS; o++) {
    biases[o] = gate_biases[o] = residuals[o] = 0;
    const Output own = output_of(o, id);
    if (!own.exists) continue;
#ifdef SUMMED
    for (uint slot = 0; (args.flags & MATMUL_BIAS) != 0 && slot < args.slots; slot++)
      biases[o] += args.scale * slot_weights[slot] * bias_of(own.column + slot_matrices[slot] * args.n);
#else
    const uint first_bias = CHOSEN ? matrix * args.n : 0;
    biases[o] = bias_of(own.column + first_bias);
    if (GATED) gate_biases[o] = bias_of(own.column + width + first_bias);
#endif
    residuals[o] = residual_of((product * ROWS + own.row) * width + own.column);
  }
  if (TRANSPOSE_B) {
    if (ahead) load_grains(a_base, matrix, own_team, slice * GRAIN);
  } else {
    load_quads(a_base, matrix, own_team, 4 * slice);
  }
  if (NORM != 0) norm_rows(a_base);
  [[unroll]] for (uint v = 0; v < VALUES; v++) sums[v] = 0;
  if (TRANSPOSE_B) {
    multiply_transposed(a_base, matrix, own_team, slice);
  } else {
    multiply(a_base, matrix, own_team, slice);
  }

  [[unroll]] for (uint v = 0; v < VALUES; v++) {
    [[unroll]] for (uint step = FIRST_STEP; step < STEPS_END; step *= 2) sums[v] += subgroupShuffleXor(sums[v], step);
    if (slice % MET == 0) group_sums[(slice / MET * TEAMS + own_team) * VALUES + v] = sums[v];
  }
  barrier();
  [[unroll]] for (uint o = 0; o < OUTPUTS; o++) {
    const Output own = output_of(o, id);
    if (!own.exists) continue;
    const uint at = (product * ROWS + own.row) * width + own.column;
    const float value = args.scale * sum_of(own.team, own.value) + biases[o];
    const float up = GATED ? args.scale * sum_of(own.team, own.value + OWN) + gate_biases[o] : 1;
    store_gated(at, value, GATED ? let_through(ACTIVATION, up) : 1, residuals[o]);
  }
}
