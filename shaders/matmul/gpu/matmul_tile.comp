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
// Matrix product for GPUs: a workgroup owns a TILE x TILE block of outputs, walks K in slices staged through shared
// memory, and each invocation keeps 4 BLOCK_ROWS x 4 BLOCK_COLUMNS outputs in registers: the larger its share, the fewer
// loads from shared memory for a multiply-add. The next slice is loaded into registers while the current one is
// multiplied. Needs no subgroup operations.
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint INVOCATIONS = 256;  // TILE / 4 / BLOCK_ROWS * TILE / 4 / BLOCK_COLUMNS
layout(constant_id = 2) const uint TILE = 64;
layout(constant_id = 3) const uint BLOCK_ROWS = 1;
layout(constant_id = 4) const uint BLOCK_COLUMNS = 1;
layout(constant_id = 5) const uint SLICE = 16;  // values of k staged at a time
layout(constant_id = 6) const uint STAGES = 1;  // slices in shared memory; with two, one barrier a slice is enough
layout(constant_id = 7) const bool TRANSPOSE_A = false;
layout(constant_id = 8) const bool TRANSPOSE_B = false;
layout(constant_id = 9) const bool ALIGNED_A = false;   // stored rows of A start at whole quads and are made of them
layout(constant_id = 10) const bool ALIGNED_B = false;  // the same of B

PUSH(MatmulArgs);
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"

const uint QUADS = TILE / 4;    // of one k in a staged slice
const uint STRIDE = QUADS + 1;  // the padding keeps neighbouring k in different banks
const uint LOADS = SLICE * QUADS / INVOCATIONS;
const uint DOWN = QUADS / BLOCK_ROWS, ACROSS = QUADS / BLOCK_COLUMNS;  // the invocations' rectangle
// Operands of which a row is one k's worth of the tile are staged as they lie; quads along k are turned.
const bool TURN_A = !TRANSPOSE_A && ALIGNED_A, TURN_B = TRANSPOSE_B && ALIGNED_B;

shared vec4 slice_a[STAGES * SLICE * STRIDE];  // [k][rows / 4]
shared vec4 slice_b[STAGES * SLICE * STRIDE];  // [k][columns / 4]

float load_a(uint base, uint row, uint k, uint end) {
  const bool inside = row < args.m && k < end;
  const uint index = base + (TRANSPOSE_A ? k * args.m + row : row * args.k + k);
  const float value = a_one(inside ? index : 0);
  return inside ? value : 0.0;
}

// Which k and which quad of a slice load `i` of this invocation brings: neighbours read neighbouring addresses.
uvec2 slot(uint i, const bool k_contiguous) {
  const uint id = i * INVOCATIONS + gl_LocalInvocationIndex;
  return k_contiguous ? uvec2(id % SLICE, id / SLICE) : uvec2(id / QUADS, id % QUADS);
}

// The same of a load of four k: which k and which row (or column) of the slice.
uvec2 turned_slot(uint i) {
  const uint id = i * INVOCATIONS + gl_LocalInvocationIndex;
  return uvec2(id % (SLICE / 4) * 4, id / (SLICE / 4));
}

vec4 load_quad_a(uint i, uint base, uint first, uint k, uint end) {
  if (ALIGNED_A) {
    const uvec2 at = TURN_A ? turned_slot(i) : slot(i, false) * uvec2(1, 4);
    const uint row = first + at.y;
    k += at.x;
    const bool inside = row < args.m && k < end;
    const vec4 quad = a_quad(inside ? (base + (TRANSPOSE_A ? k * args.m + row : row * args.k + k)) / 4 : 0);
    return inside ? quad : vec4(0);
  }
  const uvec2 at = slot(i, !TRANSPOSE_A);
  const uint row = first + 4 * at.y;
  k += at.x;
  return vec4(load_a(base, row, k, end), load_a(base, row + 1, k, end), load_a(base, row + 2, k, end),
              load_a(base, row + 3, k, end));
}

#ifdef BLOCKS
// Rows of blocks are whole quads. `base` is the product.
vec4 load_quad_b(uint i, uint base, uint first, uint k, uint end) {
  const uvec2 at = TURN_B ? turned_slot(i) : slot(i, false) * uvec2(1, 4);
  const uint column = first + at.y;
  k += at.x;
  const bool inside = column < args.n && k < end;
  const uint rows = TRANSPOSE_B ? args.n : args.k, width = TRANSPOSE_B ? args.k : args.n;
  const uint row = base * rows + (inside ? TRANSPOSE_B ? column : k : 0);
  const vec4 quad = block_quad(args.b, row * block_row_words(width), width / BLOCK_VALUES,
                               inside ? TRANSPOSE_B ? k : column : 0);
  return inside ? quad : vec4(0);
}
#else
float load_b(uint base, uint column, uint k, uint end) {
  const bool inside = column < args.n && k < end;
  const uint index = base + (TRANSPOSE_B ? column * args.k + k : k * args.n + column);
  const float value = b_one(inside ? index : 0);
  return inside ? value : 0.0;
}

vec4 load_quad_b(uint i, uint base, uint first, uint k, uint end) {
  if (ALIGNED_B) {
    const uvec2 at = TURN_B ? turned_slot(i) : slot(i, false) * uvec2(1, 4);
    const uint column = first + at.y;
    k += at.x;
    const bool inside = column < args.n && k < end;
    const vec4 quad = b_quad(inside ? (base + (TRANSPOSE_B ? column * args.k + k : k * args.n + column)) / 4 : 0);
    return inside ? quad : vec4(0);
  }
  const uvec2 at = slot(i, TRANSPOSE_B);
  const uint column = first + 4 * at.y;
  k += at.x;
  return vec4(load_b(base, column, k, end), load_b(base, column + 1, k, end), load_b(base, column + 2, k, end),
              load_b(base, column + 3, k, end));
}
#endif

#define STAGE(slice, quad, turn, k_contiguous)                                                          \
  if (turn) {                                                                                           \
    const uvec2 at = turned_slot(i);                                                                    \
    [[unroll]] for (uint e = 0; e < 4; e++) slice[stage + (at.x + e) * STRIDE + at.y / 4][at.y % 4] = quad[e]; \
  } else {                                                                                              \
    const uvec2 at = slot(i, k_contiguous);                                                             \
    slice[stage + at.x * STRIDE + at.y] = quad;                                                         \
  }

void main() {
  const uint row_tiles = (args.m + TILE - 1) / TILE, column_tiles = (args.n + TILE - 1) / TILE;
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= row_tiles * column_tiles * args.batch * args.splits) return;
  const uint first_row = group % row_tiles * TILE;
  group /= row_tiles;
  const uint first_column = group % column_tiles * TILE;
  group /= column_tiles;
  const uint product = group % args.batch, a_base = product * args.m * args.k;
#ifdef BLOCKS
  const uint b_base = product;
#else
  const uint b_base = product * args.k * args.n;
#endif
  const uint begin = group / args.batch * args.k_per_split, end = min(begin + args.k_per_split, args.k);

  const uint across = gl_LocalInvocationIndex % ACROSS, down = gl_LocalInvocationIndex / ACROSS;
  vec4 c[4 * BLOCK_ROWS * BLOCK_COLUMNS];  // [row][quad of columns]
  [[unroll]] for (uint i = 0; i < 4 * BLOCK_ROWS * BLOCK_COLUMNS; i++) c[i] = vec4(0);
  vec4 next_a[LOADS], next_b[LOADS];
  [[unroll]] for (uint i = 0; i < LOADS; i++) {
    next_a[i] = load_quad_a(i, a_base, first_row, begin, end);
    next_b[i] = load_quad_b(i, b_base, first_column, begin, end);
  }
  uint stage = 0;
  for (uint k = begin; k < end; k += SLICE) {
    // With two stages this one was last read before everybody came to the last slice's barrier.
    if (STAGES == 1) barrier();
    [[unroll]] for (uint i = 0; i < LOADS; i++) {
      STAGE(slice_a, next_a[i], TURN_A, !TRANSPOSE_A)
      STAGE(slice_b, next_b[i], TURN_B, TRANSPOSE_B)
    }
    barrier();
    if (k + SLICE < end) {
      [[unroll]] for (uint i = 0; i < LOADS; i++) {
        next_a[i] = load_quad_a(i, a_base, first_row, k + SLICE, end);
        next_b[i] = load_quad_b(i, b_base, first_column, k + SLICE, end);
      }
    }
    // The driver decides whether to unroll the steps; forced to, software drivers compile for seconds.
    for (uint s = 0; s < SLICE; s++) {
      const uint row = stage + s * STRIDE;
      vec4 b[BLOCK_COLUMNS];
      [[unroll]] for (uint j = 0; j < BLOCK_COLUMNS; j++) b[j] = slice_b[row + j * ACROSS + across];
      [[unroll]] for (uint i = 0; i < BLOCK_ROWS; i++) {
        const vec4 a = slice_a[row + i * DOWN + down];
        [[unroll]] for (uint j = 0; j < BLOCK_COLUMNS; j++) {
          c[(4 * i + 0) * BLOCK_COLUMNS + j] += a.x * b[j];
          c[(4 * i + 1) * BLOCK_COLUMNS + j] += a.y * b[j];
          c[(4 * i + 2) * BLOCK_COLUMNS + j] += a.z * b[j];
          c[(4 * i + 3) * BLOCK_COLUMNS + j] += a.w * b[j];
        }
      }
    }
    if (STAGES == 2) stage = SLICE * STRIDE - stage;
  }

  const uint base = group * args.m * args.n;
  [[unroll]] for (uint j = 0; j < BLOCK_COLUMNS; j++) {
    const uint column = first_column + 4 * (j * ACROSS + across);
    if (column >= args.n) break;
    const vec4 bias = bias_quad(column);
    [[unroll]] for (uint i = 0; i < 4 * BLOCK_ROWS; i++) {
      const uint row = first_row + 4 * (i / 4 * DOWN + down) + i % 4, index = base + row * args.n + column;
      const vec4 quad = args.scale * c[i * BLOCK_COLUMNS + j] + bias;
      if (row < args.m) store_first_quad(index, quad, args.n - column);
    }
  }
  if (!needs_finish()) return;
  for (uint i = 0; i < 4 * BLOCK_ROWS * BLOCK_COLUMNS; i++) {
    const uint i_row = i / BLOCK_COLUMNS;
    const uint row = first_row + 4 * (i_row / 4 * DOWN + down) + i_row % 4;
    const uint column = first_column + 4 * (i % BLOCK_COLUMNS * ACROSS + across);
    const uint index = base + row * args.n + column, count = args.n - column;
    if (row < args.m && column < args.n)
      store_finished_quad(index, load_quad(args.y, index, count, false), count, false);
  }
}
