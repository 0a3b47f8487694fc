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
#include "shaders/matmul/register_tile.glsl"

// Adds the products of `steps` (STEP or 1) values of k.
void accumulate(uint k, const uint steps) {
  load_b(k, steps);
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
  if (!has_tile()) return;
  start_tile();
  uint k = first_k;
  for (; k + STEP <= end_k; k += STEP) accumulate(k, STEP);
  for (; k < end_k; k++) accumulate(k, 1);
  store_tile();
}
