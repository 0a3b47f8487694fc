#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// variant f32_int64: -DINT64
// variant f32_f16_int64: -DHALF=1 -DB_HALF -DINT64
// variant f32_bf16_int64: -DHALF=2 -DB_HALF -DINT64
// variant f16_int64: -DHALF=1 -DA_HALF -DB_HALF -DINT64
// variant bf16_int64: -DHALF=2 -DA_HALF -DB_HALF -DINT64
// Matrix product for software drivers that load a uniform value once for the whole subgroup, even when its address
// comes from a loop counter or the workgroup's number. As matmul_lanes, but A is read in that way, four floats at a
// time, and nothing is broadcast.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint SUBGROUP = 8;
layout(constant_id = 2) const uint ROWS = 32;  // with TRANSPOSE_A and QUADS_A a multiple of 4
layout(constant_id = 3) const uint COLUMNS = 8;  // per lane
layout(constant_id = 4) const bool TRANSPOSE_A = false;
layout(constant_id = 5) const bool TRANSPOSE_B = false;
layout(constant_id = 6) const bool QUADS_A = false;  // the stored rows of A start at whole quads
layout(constant_id = 7) const bool PAIRS_B = false;  // of B 8-byte aligned; without TRANSPOSE_B, COLUMNS is even
layout(constant_id = 8) const bool ADD_RESIDUAL = false;  // there is a residual and no activation before it
layout(constant_id = 9) const uint STEP = 4;              // values of k at a time, a multiple of 4

// Rows at a time: their sums stay in registers while k advances.
const uint BLOCK = 4;

PUSH(MatmulArgs);
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"

const uint B_UNIT = PAIRS_B ? 2 : 1;
// A lane of B's registers holds neighbouring columns when they were loaded as a pair.
const bool PAIRED_COLUMNS = PAIRS_B && !TRANSPOSE_B;

float c[ROWS * COLUMNS];
uint a_first, first_row;
// Where this lane's columns of B start, and the step from one k to the next where k is not contiguous, in pairs if
// PAIRS_B. Columns past the edge are clamped to it, as rows are; their results are never stored.
uint b_at[COLUMNS], b_step;

// Adds the products of `steps` (STEP or 1) values of k.
void accumulate(uint k, const uint steps) {
  float b[STEP * COLUMNS];  // [step][column]
  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    [[unroll]] for (uint h = 0; h < steps; h++) {
      if (PAIRS_B && TRANSPOSE_B && steps > 1) {
        if (h % 2 != 0) continue;
        const vec2 pair = b_pair(b_at[t] + (k + h) / 2);
        b[h * COLUMNS + t] = pair.x, b[(h + 1) * COLUMNS + t] = pair.y;
      } else if (!PAIRED_COLUMNS) {
        b[h * COLUMNS + t] = b_one(b_at[t] * B_UNIT + (TRANSPOSE_B ? k + h : (k + h) * b_step));
      } else if (t % 2 == 0) {
        const vec2 pair = b_pair(b_at[t] + (k + h) * b_step);
        b[h * COLUMNS + t] = pair.x, b[h * COLUMNS + t + 1] = pair.y;
      }
    }
  }
  [[unroll]] for (uint r = 0; r < ROWS; r += BLOCK) {
    const uint rows = min(BLOCK, ROWS - r);
    float a[BLOCK * STEP];  // [row][step]
    [[unroll]] for (uint i = 0; i < rows; i++) {
      const uint row = min(first_row + r + i, args.m - 1);
      [[unroll]] for (uint h = 0; h < steps; h++) {
        if (QUADS_A && TRANSPOSE_A) {
          if (i % 4 != 0) continue;
          const vec4 quad = a_quad((a_first + (k + h) * args.m + min(row, args.m - 4)) / 4);
          [[unroll]] for (uint j = 0; j < 4; j++) a[(i + j) * STEP + h] = quad[j];
        } else if (QUADS_A && steps > 1) {
          if (h % 4 != 0) continue;
          const vec4 quad = a_quad((a_first + row * args.k + k + h) / 4);
          [[unroll]] for (uint j = 0; j < 4; j++) a[i * STEP + h + j] = quad[j];
        } else {
          a[i * STEP + h] = a_one(a_first + (TRANSPOSE_A ? (k + h) * args.m + row : row * args.k + k + h));
        }
      }
    }
    [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
      [[unroll]] for (uint h = 0; h < steps; h++) {
        [[unroll]] for (uint i = 0; i < rows; i++) {
          c[(r + i) * COLUMNS + t] += a[i * STEP + h] * b[h * COLUMNS + t];
        }
      }
    }
  }
}

void main() {
  const uint row_tiles = (args.m + ROWS - 1) / ROWS;
  const uint column_tiles = (args.n + COLUMNS * SUBGROUP - 1) / (COLUMNS * SUBGROUP);
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= row_tiles * column_tiles * args.batch * args.splits) return;
  first_row = group % row_tiles * ROWS;
  group /= row_tiles;
  const uint lane = gl_SubgroupInvocationID, first_column = group % column_tiles * COLUMNS * SUBGROUP;
  group /= column_tiles;
  const uint product = group % args.batch, split = group / args.batch;

  uint columns[COLUMNS];
  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    columns[t] = first_column + (PAIRED_COLUMNS ? 2 * (t / 2 * SUBGROUP + lane) + t % 2 : t * SUBGROUP + lane);
    const uint column = min(columns[t], PAIRED_COLUMNS ? args.n - 2 : args.n - 1);
    b_at[t] = TRANSPOSE_B ? (product * args.n + column) * args.b_stride / B_UNIT
                          : (product * args.k * args.n + column) / B_UNIT;
  }
  b_step = args.n / B_UNIT;
  a_first = product * args.m * args.k;
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) c[i] = 0;
  uint k = split * args.k_per_split;
  const uint end = min(k + args.k_per_split, args.k);
  for (; k + STEP <= end; k += STEP) accumulate(k, STEP);
  for (; k < end; k++) accumulate(k, 1);

  const uint base = group * args.m * args.n;
  // Rows past the edge are stored on top of the last one, which itself comes after them: no branches.
  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    if (columns[t] < args.n) {
      const float bias = bias_of(columns[t]);
      [[unroll]] for (uint i = 1; i <= ROWS; i++) {
        const uint row = min(first_row + ROWS - i, args.m - 1);
        const uint index = base + row * args.n + columns[t];
        const float value = args.scale * c[(ROWS - i) * COLUMNS + t] + bias;
        args.y.v[index] = ADD_RESIDUAL ? value + args.residual.v[index] : value;
      }
    }
  }
  if (ACTIVATION == activation_none) return;
  for (uint row = first_row; row < min(first_row + ROWS, args.m); row++) {
    [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
      const uint index = base + row * args.n + columns[t];
      if (columns[t] < args.n) store_finished(index, args.y.v[index]);
    }
  }
}
