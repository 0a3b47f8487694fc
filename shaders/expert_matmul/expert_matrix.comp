#version 460
// needs: cooperative_matrix
// needs bf16: bfloat16
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// variant q8_0: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q8_0
// variant q4_0: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q4_0
// variant q4_1: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q4_1
// variant q5_0: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q5_0
// variant q5_1: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q5_1
// variant q2_k: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q2_K
// variant q3_k: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q3_K
// variant q4_k: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q4_K
// variant q5_k: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q5_K
// variant q6_k: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_Q6_K
// variant iq4_nl: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_IQ4_NL
// variant iq4_xs: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_IQ4_XS
// variant mxfp4: -DHALF=1 -DA_HALF -DBLOCKS=BLOCKS_MXFP4
// Products of each expert's weight [N, K] with the rows of its pairs, of 16 bits, on matrix cores, as matmul_matrix does
// them: rows are gathered as they are loaded, and results are stored where their pairs are. Encoded weights are decoded
// on their way to shared memory: an expert has few rows, so each of its weights is decoded about once.
#extension GL_GOOGLE_include_directive : require
#include "shaders/expert_matmul/expert_matmul.args.h"

const bool TRANSPOSE_A = false, TRANSPOSE_B = true;
#include "shaders/matmul/gpu/matrix_blocks.glsl"

PUSH(ExpertMatmulArgs);
#include "shaders/common/half.glsl"
#ifdef BLOCKS
#include "shaders/common/blocks.glsl"
#endif
#include "shaders/expert_matmul/expert_rows.glsl"

shared uint sources[TILE_ROWS];  // the block's rows of A

uint first_column;

// Eight neighbours of a row of A. Past the end of K they are zeros, which is all that the others are multiplied with.
uvec4 load_a(uint i, uint first_k) {
  const uvec2 at = slot(i, PACKS_A);
  const uint k = first_k + 8 * at.x;
  return k < args.k ? HalfPacks(args.a).v[(sources[at.y] * args.k + k) / 8] : uvec4(0);
}

// Of a row of the expert's weight.
uvec4 load_b(uint i, uint first_k) {
  const uvec2 at = slot(i, PACKS_B);
  const uint row = expert * args.n + min(first_column + at.y, args.n - 1), k = min(first_k + 8 * at.x, args.k - 8);
#ifdef BLOCKS
  const uint start = row * block_row_words(args.k), blocks = args.k / BLOCK_VALUES;
  const vec2 step = group_step(args.b, start, blocks, k / GROUP);
  uvec4 pack;
  [[unroll]] for (uint q = 0; q < 2; q++) {
    const vec4 quad = decoded(quad_codes(args.b, start, blocks, k + 4 * q), step);
    pack[2 * q] = pack_halves(within_half(quad.xy));
    pack[2 * q + 1] = pack_halves(within_half(quad.zw));
  }
  return pack;
#else
  return HalfPacks(args.b).v[(row * args.k + k) / 8];
#endif
}

// Stores a subgroup's strip, which is staged from `from` on: rows of the places from `first` on.
void finish_strip(uint from, uint first, uint left) {
  const uint row_quads = SHARE_COLUMNS / 4;
  [[dont_unroll]] for (uint e = gl_SubgroupInvocationID; e < ROWS * row_quads; e += SUBGROUP) {
    const uint place = first + e / row_quads, column = left + 4 * (e % row_quads);
    if (place >= end_place || column >= args.n) continue;
    const vec4 quad = uintBitsToFloat(staged[from + e / row_quads * STRIP_STRIDE + e % row_quads]);
    const uint at = uint(args.order.v[place]) * args.n + column;
    [[unroll]] for (uint n = 0; n < 4; n++)
      if (column + n < args.n) args.y.v[at + n] = quad[n] + bias_of(column + n);
  }
}

void main() {
  const uint column_tiles = (args.n + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group / column_tiles >= args.pairs / TILE_ROWS + args.experts) return;
  if (!find_rows(group / column_tiles, TILE_ROWS)) return;
  first_column = group % column_tiles * TILE_COLUMNS;
  for (uint i = gl_LocalInvocationIndex; i < TILE_ROWS; i += INVOCATIONS)
    sources[i] = uint(args.a_places.v[min(first_place + i, args.pairs - 1)]);
  barrier();

  const uint down = gl_SubgroupID / ACROSS * (TILE_ROWS / DOWN);
  const uint across = gl_SubgroupID % ACROSS * SHARE_COLUMNS;
  Sums c[TILES_DOWN * TILES_ACROSS];
  [[unroll]] for (uint t = 0; t < TILES_DOWN * TILES_ACROSS; t++) c[t] = Sums(0.0);

  // A slice is staged and the next (the last one's end again) sent for, then it is multiplied.
  uvec4 next_a[LOADS_A], next_b[LOADS_B];
#define LOAD_SLICE(first_k)                                                   \
  [[unroll]] for (uint i = 0; i < LOADS_A; i++) next_a[i] = load_a(i, first_k); \
  [[unroll]] for (uint i = 0; i < LOADS_B; i++) next_b[i] = load_b(i, first_k);
  LOAD_SLICE(0)
  uint stage = 0;
  [[dont_unroll]] for (uint k = 0; k < args.k; k += SLICE) {
    const uint at_a = stage * SLICE_A, at_b = STAGES * SLICE_A + stage * SLICE_B;
    if (STAGES == 1) barrier();
    [[unroll]] for (uint i = 0; i < LOADS_A; i++) {
      const uvec2 to = slot(i, PACKS_A);
      staged[at_a + to.y * STRIDE_A + to.x] = next_a[i];
    }
    [[unroll]] for (uint i = 0; i < LOADS_B; i++) {
      const uvec2 to = slot(i, PACKS_B);
      staged[at_b + to.y * STRIDE_B + to.x] = next_b[i];
    }
    barrier();
    LOAD_SLICE(k + SLICE)
    MULTIPLY_SLICE(at_a, at_b)
    if (STAGES > 1) stage = 1 - stage;
  }
  barrier();

  // Strip by strip, as lanes see them. All subgroups of a workgroup meet as many barriers: there are drivers on which those
  // of subgroups are its own.
  const uint own = gl_SubgroupID * ROWS * STRIP_STRIDE;
#define FINISH_STRIP(i)                                                                            \
  if (i < TILES_DOWN) {                                                                            \
    subgroupBarrier();                                                                             \
    [[unroll]] for (uint j = 0; j < TILES_ACROSS; j++)                                             \
      coopMatStore(c[i * TILES_ACROSS + j], staged, own + j * COLUMNS / 4, STRIP_STRIDE, by_rows); \
    subgroupBarrier();                                                                             \
    finish_strip(own, first_place + down + i * ROWS, first_column + across);                       \
  }
  FINISH_STRIPS
}
