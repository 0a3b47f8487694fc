#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
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
// Products of each expert's weight with the rows of its pairs, gathered as they are loaded, for GPUs, in tiles of shared
// memory (tile.glsl). With TRANSPOSE_A the gradient of the weights: K is the expert's pairs.
#extension GL_GOOGLE_include_directive : require
#include "shaders/expert_matmul/expert_matmul.args.h"

PUSH(ExpertMatmulArgs);
#define WITHOUT_PAIRS
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/gpu/tile.glsl"
#include "shaders/expert_matmul/expert_rows.glsl"

shared uint sources[TILE];  // without TRANSPOSE_A: the block's rows of A

uint place(Ints places, uint k) { return uint(places.v[min(k, args.pairs - 1)]); }

uint a_row(uint i) { return TRANSPOSE_A ? place(args.a_places, i) : sources[i - first_row]; }
uint b_row(uint i) {
  return TRANSPOSE_A ? place(args.b_places, i) : expert * (TRANSPOSE_B ? args.n : args.k) + i;
}

void main() {
  const uint column_tiles = (args.n + TILE - 1) / TILE;
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  first_column = group % column_tiles * TILE;
  group /= column_tiles;
  uint begin = 0;
  if (TRANSPOSE_A) {
    const uint row_tiles = (args.m + TILE - 1) / TILE;
    expert = group / row_tiles;
    if (expert >= args.experts) return;
    first_row = group % row_tiles * TILE;
    end_row = args.m;
    begin = uint(args.offsets.v[expert]);
    end_k = uint(args.offsets.v[expert + 1]);
  } else {
    if (group >= args.pairs / TILE + args.experts || !find_rows(group, TILE)) return;
    first_row = first_place;
    end_row = end_place;
    end_k = args.k;
    for (uint i = gl_LocalInvocationIndex; i < TILE; i += INVOCATIONS)
      sources[i] = place(args.a_places, first_row + i);
    barrier();
  }
  multiply_tile(begin);

  [[unroll]] for (uint i = 0; i < SHARE; i++) {
    const uint row = row_of(i), column = column_of(i);
    if (row >= end_row || column >= args.n) continue;
    const uint index = (TRANSPOSE_A ? expert * args.m + row : uint(args.order.v[row])) * args.n + column;
    [[unroll]] for (uint j = 0; j < 4; j++) {
      if (column + j < args.n) args.y.v[index + j] = c[i][j] + bias_of(column + j);
    }
  }
}
