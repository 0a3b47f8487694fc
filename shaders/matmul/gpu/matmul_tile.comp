#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// variant f32_q8_0: -DBLOCKS=BLOCKS_Q8_0
// variant f32_q4_0: -DBLOCKS=BLOCKS_Q4_0
// variant f32_q4_1: -DBLOCKS=BLOCKS_Q4_1
// variant f32_q5_0: -DBLOCKS=BLOCKS_Q5_0
// variant f32_q5_1: -DBLOCKS=BLOCKS_Q5_1
// variant f32_q2_k: -DBLOCKS=BLOCKS_Q2_K
// variant f32_q3_k: -DBLOCKS=BLOCKS_Q3_K
// variant f32_q4_k: -DBLOCKS=BLOCKS_Q4_K
// variant f32_q5_k: -DBLOCKS=BLOCKS_Q5_K
// variant f32_q6_k: -DBLOCKS=BLOCKS_Q6_K
// variant f32_iq4_nl: -DBLOCKS=BLOCKS_IQ4_NL
// variant f32_iq4_xs: -DBLOCKS=BLOCKS_IQ4_XS
// variant f32_mxfp4: -DBLOCKS=BLOCKS_MXFP4
// variant f16_y: -DHALF=1 -DA_HALF -DB_HALF -DY_HALF
// variant bf16_y: -DHALF=2 -DA_HALF -DB_HALF -DY_HALF
// Matrix product for GPUs, in tiles of shared memory (tile.glsl).
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 11) const bool WHOLE_Y = false;  // stored rows of y start at whole quads and are made of them

PUSH(MatmulArgs);
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"
#include "shaders/matmul/gpu/tile.glsl"

uint product;  // its index in the batch

uint a_row(uint i) { return product * (TRANSPOSE_A ? args.k : args.m) + i; }
uint b_row(uint i) { return product * (TRANSPOSE_B ? args.n : args.k) + i; }

void main() {
  const uint row_tiles = (args.m + TILE - 1) / TILE, column_tiles = (args.n + TILE - 1) / TILE;
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= row_tiles * column_tiles * args.batch * args.splits) return;
  first_row = group % row_tiles * TILE;
  end_row = args.m;
  group /= row_tiles;
  first_column = group % column_tiles * TILE;
  group /= column_tiles;
  product = group % args.batch;
  const uint begin = group / args.batch * args.k_per_split;
  end_k = min(begin + args.k_per_split, args.k);
  multiply_tile(begin);

  const uint base = group * args.m * args.n;
  const bool has_residual = ACTIVATION == activation_none && (args.flags & MATMUL_RESIDUAL) != 0;
  [[unroll]] for (uint j = 0; j < BLOCK_COLUMNS; j++) {
    const uint column = column_of(j), count = args.n - column;
    if (column >= args.n) break;
    const vec4 bias = bias_quad(column);
    Y_QUAD residuals[SHARE / BLOCK_COLUMNS];  // sent for before one is waited for
    if (WHOLE_Y && has_residual)
      [[unroll]] for (uint i = 0; i < SHARE / BLOCK_COLUMNS; i++) {
        const uint row = min(row_of(i * BLOCK_COLUMNS), args.m - 1);
        residuals[i] = args.residual_quads.v[(base + row * args.n + column) / 4];
      }
    [[unroll]] for (uint i = 0; i < SHARE / BLOCK_COLUMNS; i++) {
      const uint row = row_of(i * BLOCK_COLUMNS), index = base + row * args.n + column;
      if (row >= args.m) continue;
      vec4 quad = args.scale * c[i * BLOCK_COLUMNS + j] + bias;
      if (has_residual)
        quad += WHOLE_Y ? values_of(residuals[i]) : load_quad(args.residual, index, count, false);
      if (WHOLE_Y)
        args.y_quads.v[index / 4] = stored(quad);
      else
        store_quad(args.y, index, quad, count, false);
    }
  }
  if (ACTIVATION == activation_none) return;
  // What is in y now is the value before the activation; a real loop comes back for it: unrolled, it would be many times
  // the code of the product, and compile for seconds.
  for (uint i = 0; i < SHARE; i++) {
    const uint row = row_of(i), column = column_of(i), index = base + row * args.n + column, count = args.n - column;
    if (row >= args.m || column >= args.n) continue;
    const vec4 quad = WHOLE_Y ? values_of(args.y_quads.v[index / 4]) : load_quad(args.y, index, count, false);
    store_finished_quad(index, quad, count, false);
  }
}
