#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// Matrix product for GPUs: a workgroup owns a TILE x TILE block of outputs, walks K in slices staged through shared
// memory, and each invocation keeps 4 x 4 (BLOCK 1) or 8 x 8 (BLOCK 2) outputs in registers. The next slice is loaded
// into registers while the current one is multiplied. Needs no subgroup operations.
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint INVOCATIONS = 256;  // (TILE / 4 / BLOCK)^2
layout(constant_id = 2) const uint TILE = 64;
layout(constant_id = 3) const uint BLOCK = 1;
layout(constant_id = 4) const bool TRANSPOSE_A = false;
layout(constant_id = 5) const bool TRANSPOSE_B = false;
layout(constant_id = 6) const bool ALIGNED_A = false;  // stored rows of A start at whole quads; used if TRANSPOSE_A
layout(constant_id = 7) const bool ALIGNED_B = false;  // the same of B; used without TRANSPOSE_B

PUSH(MatmulArgs);
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"

const uint SLICE = 16;           // values of k staged at a time
const uint QUADS = TILE / 4;     // of one k in a staged slice
const uint STRIDE = QUADS + 1;   // the padding keeps neighbouring k in different banks
const uint LOADS = SLICE * QUADS / INVOCATIONS;
const uint SIDE = QUADS / BLOCK;  // the invocations form a SIDE x SIDE square

shared vec4 slice_a[SLICE * STRIDE];  // [k][rows / 4]
shared vec4 slice_b[SLICE * STRIDE];  // [k][columns / 4]

float load_a(uint base, uint row, uint k, uint end) {
  const bool inside = row < args.m && k < end;
  const uint index = base + (TRANSPOSE_A ? k * args.m + row : row * args.k + k);
  const float value = a_one(inside ? index : 0);
  return inside ? value : 0.0;
}

float load_b(uint base, uint column, uint k, uint end) {
  const bool inside = column < args.n && k < end;
  const uint index = base + (TRANSPOSE_B ? column * args.k + k : k * args.n + column);
  const float value = b_one(inside ? index : 0);
  return inside ? value : 0.0;
}

// Which k and which quad of a slice load `i` of this invocation brings: neighbours read neighbouring addresses.
uvec2 slot(uint i, const bool k_contiguous) {
  const uint id = i * INVOCATIONS + gl_LocalInvocationIndex;
  return k_contiguous ? uvec2(id % SLICE, id / SLICE) : uvec2(id / QUADS, id % QUADS);
}

vec4 load_quad_a(uint i, uint base, uint first, uint k, uint end) {
  const uvec2 at = slot(i, !TRANSPOSE_A);
  const uint row = first + 4 * at.y;
  k += at.x;
  if (TRANSPOSE_A && ALIGNED_A) {
    const bool inside = row < args.m && k < end;
    const vec4 quad = a_quad(inside ? (base + k * args.m + row) / 4 : 0);
    return inside ? quad : vec4(0);
  }
  return vec4(load_a(base, row, k, end), load_a(base, row + 1, k, end), load_a(base, row + 2, k, end),
              load_a(base, row + 3, k, end));
}

vec4 load_quad_b(uint i, uint base, uint first, uint k, uint end) {
  const uvec2 at = slot(i, TRANSPOSE_B);
  const uint column = first + 4 * at.y;
  k += at.x;
  if (!TRANSPOSE_B && ALIGNED_B) {
    const bool inside = column < args.n && k < end;
    const vec4 quad = b_quad(inside ? (base + k * args.n + column) / 4 : 0);
    return inside ? quad : vec4(0);
  }
  return vec4(load_b(base, column, k, end), load_b(base, column + 1, k, end), load_b(base, column + 2, k, end),
              load_b(base, column + 3, k, end));
}

void main() {
  const uint row_tiles = (args.m + TILE - 1) / TILE, column_tiles = (args.n + TILE - 1) / TILE;
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= row_tiles * column_tiles * args.batch * args.splits) return;
  const uint first_row = group % row_tiles * TILE;
  group /= row_tiles;
  const uint first_column = group % column_tiles * TILE;
  group /= column_tiles;
  const uint a_base = group % args.batch * args.m * args.k, b_base = group % args.batch * args.k * args.n;
  const uint begin = group / args.batch * args.k_per_split, end = min(begin + args.k_per_split, args.k);

  const uint across = gl_LocalInvocationIndex % SIDE, down = gl_LocalInvocationIndex / SIDE;
  vec4 c[4 * BLOCK * BLOCK];  // [row][quad of columns]
  [[unroll]] for (uint i = 0; i < 4 * BLOCK * BLOCK; i++) c[i] = vec4(0);
  vec4 next_a[LOADS], next_b[LOADS];
  [[unroll]] for (uint i = 0; i < LOADS; i++) {
    next_a[i] = load_quad_a(i, a_base, first_row, begin, end);
    next_b[i] = load_quad_b(i, b_base, first_column, begin, end);
  }
  for (uint k = begin; k < end; k += SLICE) {
    barrier();
    [[unroll]] for (uint i = 0; i < LOADS; i++) {
      const uvec2 a_slot = slot(i, !TRANSPOSE_A), b_slot = slot(i, TRANSPOSE_B);
      slice_a[a_slot.x * STRIDE + a_slot.y] = next_a[i];
      slice_b[b_slot.x * STRIDE + b_slot.y] = next_b[i];
    }
    barrier();
    if (k + SLICE < end) {
      [[unroll]] for (uint i = 0; i < LOADS; i++) {
        next_a[i] = load_quad_a(i, a_base, first_row, k + SLICE, end);
        next_b[i] = load_quad_b(i, b_base, first_column, k + SLICE, end);
      }
    }
    // The driver decides whether to unroll the 16 steps; forced to, software drivers compile for seconds.
    for (uint s = 0; s < SLICE; s++) {
      vec4 b[BLOCK];
      [[unroll]] for (uint j = 0; j < BLOCK; j++) b[j] = slice_b[s * STRIDE + j * SIDE + across];
      [[unroll]] for (uint i = 0; i < BLOCK; i++) {
        const vec4 a = slice_a[s * STRIDE + i * SIDE + down];
        [[unroll]] for (uint j = 0; j < BLOCK; j++) {
          c[(4 * i + 0) * BLOCK + j] += a.x * b[j];
          c[(4 * i + 1) * BLOCK + j] += a.y * b[j];
          c[(4 * i + 2) * BLOCK + j] += a.z * b[j];
          c[(4 * i + 3) * BLOCK + j] += a.w * b[j];
        }
      }
    }
  }

  const uint base = group * args.m * args.n;
  [[unroll]] for (uint j = 0; j < 4 * BLOCK; j++) {
    const uint column = first_column + 4 * (j / 4 * SIDE + across) + j % 4;
    if (column >= args.n) break;
    const float bias = bias_of(column);
    [[unroll]] for (uint i = 0; i < 4 * BLOCK; i++) {
      const uint row = first_row + 4 * (i / 4 * SIDE + down) + i % 4;
      if (row < args.m) args.y.v[base + row * args.n + column] = args.scale * c[i * BLOCK + j / 4][j % 4] + bias;
    }
  }
  if (!needs_finish()) return;
  for (uint i = 0; i < 16 * BLOCK * BLOCK; i++) {
    const uint i_row = i / (4 * BLOCK), i_column = i % (4 * BLOCK);
    const uint row = first_row + 4 * (i_row / 4 * SIDE + down) + i_row % 4;
    const uint column = first_column + 4 * (i_column / 4 * SIDE + across) + i_column % 4;
    const uint index = base + row * args.n + column;
    if (row < args.m && column < args.n) store_finished(index, args.y.v[index]);
  }
}
