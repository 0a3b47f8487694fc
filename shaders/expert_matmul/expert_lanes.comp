#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// variant f32_int64: -DINT64
// variant f32_f16_int64: -DHALF=1 -DB_HALF -DINT64
// variant f32_bf16_int64: -DHALF=2 -DB_HALF -DINT64
// Products of each expert's weight with the rows of its pairs, or with TRANSPOSE_A the gradient of the weights, for
// software drivers, as matmul_lanes does them: one subgroup owns ROWS x (COLUMNS * SUBGROUP) outputs in registers. Lanes
// run along the rows when A is loaded and along the columns when B is, 64 bits at a time where rows are aligned, and each
// value of A is then broadcast.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/expert_matmul/expert_matmul.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint SUBGROUP = 8;
layout(constant_id = 1) const uint ROWS = 16;
layout(constant_id = 2) const uint COLUMNS = 4;  // per lane, an even number
layout(constant_id = 3) const bool TRANSPOSE_A = false;
layout(constant_id = 4) const bool TRANSPOSE_B = false;
layout(constant_id = 5) const bool PAIRS_A = false;  // the stored rows of A start 8-byte aligned
layout(constant_id = 6) const bool PAIRS_B = false;  // the same of B

const uint STEP = 4;  // values of k at a time

PUSH(ExpertMatmulArgs);
#include "shaders/matmul/operands.glsl"
#include "shaders/expert_matmul/expert_rows.glsl"

// A lane holds neighbouring rows or columns where they were loaded as a pair.
const bool PAIRED_ROWS = PAIRS_A && TRANSPOSE_A, PAIRED_COLUMNS = PAIRS_B && !TRANSPOSE_B;
const uint ROWS_PER_LOAD = PAIRED_ROWS ? 2 * SUBGROUP : SUBGROUP;
const uint LOADS_OF_A = (ROWS + ROWS_PER_LOAD - 1) / ROWS_PER_LOAD;

uint first_row, end_row, first_column;
uint a_at[LOADS_OF_A], b_at[COLUMNS], columns[COLUMNS];  // where this lane's rows and columns start
float a[2 * STEP], b[STEP * COLUMNS];                    // [step][row parity] or [step]; [step][column]
float c[ROWS * COLUMNS];

// Four values from element `at` on. Rows of floats are aligned to pairs, those of halves to quads.
vec4 a_four(uint at) { return vec4(a_pair(at / 2), a_pair(at / 2 + 1)); }
#ifdef B_HALF
vec4 b_four(uint at) { return b_quad(at / 4); }
#else
vec4 b_four(uint at) { return vec4(b_pair(at / 2), b_pair(at / 2 + 1)); }
#endif

uint place(Ints places, uint at) { return uint(places.v[at]); }

// Where the values of k lie relative to a_at and b_at.
uint a_step(uint k) { return TRANSPOSE_A ? place(args.a_places, k) * args.m : k; }
uint b_step(uint k) { return TRANSPOSE_A ? place(args.b_places, k) * args.n : TRANSPOSE_B ? k : k * args.n; }

void load_a(uint g, uint k, const uint steps) {
  if (PAIRS_A && !TRANSPOSE_A && steps == STEP) {
    const vec4 four = a_four(a_at[g] + k);
    [[unroll]] for (uint h = 0; h < STEP; h++) a[h] = four[h];
  } else {
    [[unroll]] for (uint h = 0; h < steps; h++) {
      const uint at = a_at[g] + a_step(k + h);
      if (PAIRED_ROWS) {
        const vec2 pair = a_pair(at / 2);
        a[2 * h] = pair.x, a[2 * h + 1] = pair.y;
      } else {
        a[h] = a_one(at);
      }
    }
  }
}

void load_b(uint k, const uint steps) {
  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    if (PAIRS_B && TRANSPOSE_B && steps == STEP) {
      const vec4 four = b_four(b_at[t] + k);
      [[unroll]] for (uint h = 0; h < STEP; h++) b[h * COLUMNS + t] = four[h];
    } else if (!PAIRED_COLUMNS) {
      [[unroll]] for (uint h = 0; h < steps; h++) b[h * COLUMNS + t] = b_one(b_at[t] + b_step(k + h));
    } else if (t % 2 == 0) {
      [[unroll]] for (uint h = 0; h < steps; h++) {
        const vec2 pair = b_pair((b_at[t] + b_step(k + h)) / 2);
        b[h * COLUMNS + t] = pair.x, b[h * COLUMNS + t + 1] = pair.y;
      }
    }
  }
}

// Adds the products of `steps` (STEP or 1) values of k.
void accumulate(uint k, const uint steps) {
  load_b(k, steps);
  [[unroll]] for (uint g = 0; g < LOADS_OF_A; g++) {
    load_a(g, k, steps);
    [[unroll]] for (uint r = 0; r < min(ROWS_PER_LOAD, ROWS - g * ROWS_PER_LOAD); r++) {
      [[unroll]] for (uint h = 0; h < steps; h++) {
        const float x = PAIRED_ROWS ? subgroupBroadcast(a[2 * h + r % 2], r / 2) : subgroupBroadcast(a[h], r);
        [[unroll]] for (uint t = 0; t < COLUMNS; t++) c[(g * ROWS_PER_LOAD + r) * COLUMNS + t] += x * b[h * COLUMNS + t];
      }
    }
  }
}

void main() {
  const uint column_tiles = (args.n + COLUMNS * SUBGROUP - 1) / (COLUMNS * SUBGROUP), lane = gl_SubgroupInvocationID;
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  first_column = group % column_tiles * COLUMNS * SUBGROUP;
  group /= column_tiles;
  uint begin = 0, end = args.k;
  if (TRANSPOSE_A) {
    const uint row_tiles = (args.m + ROWS - 1) / ROWS;
    expert = group / row_tiles;
    if (expert >= args.experts) return;
    first_row = group % row_tiles * ROWS;
    end_row = args.m;
    begin = uint(args.offsets.v[expert]);
    end = uint(args.offsets.v[expert + 1]);
  } else {
    if (group >= args.pairs / ROWS + args.experts || !find_rows(group, ROWS)) return;
    first_row = first_place;
    end_row = end_place;
  }

  // Rows and columns past the edge read the last one; they are not stored.
  [[unroll]] for (uint g = 0; g < LOADS_OF_A; g++) {
    const uint row = first_row + (g * SUBGROUP + lane) * (PAIRED_ROWS ? 2 : 1);
    const uint clamped = min(row, PAIRED_ROWS ? end_row - 2 : end_row - 1);
    a_at[g] = TRANSPOSE_A ? clamped : place(args.a_places, clamped) * args.k;
  }
  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    columns[t] = first_column + (PAIRED_COLUMNS ? 2 * (t / 2 * SUBGROUP + lane) + t % 2 : t * SUBGROUP + lane);
    const uint column = min(columns[t], PAIRED_COLUMNS ? args.n - 2 : args.n - 1);
    b_at[t] = column * (TRANSPOSE_B ? args.k : 1) + (TRANSPOSE_A ? 0 : expert * args.k * args.n);
  }
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) c[i] = 0;
  uint k = begin;
  for (; k + STEP <= end; k += STEP) accumulate(k, STEP);
  for (; k < end; k++) accumulate(k, 1);

  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    const uint row = first_row + r;
    if (row < end_row) {
      const uint start = (TRANSPOSE_A ? expert * args.m + row : place(args.order, row)) * args.n;
      [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
        if (columns[t] < args.n) args.y.v[start + columns[t]] = c[r * COLUMNS + t] + bias_of(columns[t]);
      }
    }
  }
}
