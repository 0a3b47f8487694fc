#version 460
// needs: cooperative_matrix
// variant f16: -DA_HALF -DB_HALF
// Product of 16-bit operands on matrix cores, summed in f32. A workgroup owns a TILE x TILE block of outputs and walks
// K in slices staged through shared memory as they lie in memory, with zeros past the edges. Each subgroup owns a share
// of the block, in tiles of ROWS x COLUMNS, the size that the device multiplies at once. Results go through shared
// memory, too: only there does an invocation know which element it holds.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#include "shaders/matmul/matmul.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint INVOCATIONS = 128;
layout(constant_id = 2) const uint SUBGROUP = 32;
layout(constant_id = 3) const uint TILE = 64;
layout(constant_id = 4) const uint DOWN = 2;    // subgroups along the rows of the block
layout(constant_id = 5) const uint ACROSS = 2;  // and along its columns; DOWN * ACROSS * SUBGROUP = INVOCATIONS
layout(constant_id = 6) const uint ROWS = 16;
layout(constant_id = 7) const uint COLUMNS = 16;
layout(constant_id = 8) const uint DEPTH = 16;
layout(constant_id = 9) const bool TRANSPOSE_A = false;
layout(constant_id = 10) const bool TRANSPOSE_B = false;
layout(constant_id = 11) const bool ALIGNED_A = false;  // stored rows of A start at whole quads and are made of them
layout(constant_id = 12) const bool ALIGNED_B = false;  // the same of B

PUSH(MatmulArgs);
#include "shaders/matmul/epilogue.glsl"

const uint SLICE = 32;  // values of k staged at a time
const uint LOADS = SLICE * TILE / 4 / INVOCATIONS;
// Quads in a stored row of a staged slice; in shared memory two more, which keep rows in different banks.
const uint QUADS_A = (TRANSPOSE_A ? TILE : SLICE) / 4, STRIDE_A = QUADS_A + 2;
const uint QUADS_B = (TRANSPOSE_B ? SLICE : TILE) / 4, STRIDE_B = QUADS_B + 2;
// Values of k in straight code. The small products are those of a software driver, which would compile for seconds.
const uint STRAIGHT = DEPTH < 16 ? DEPTH : SLICE;
const uint TILES_DOWN = TILE / DOWN / ROWS, TILES_ACROSS = TILE / ACROSS / COLUMNS;
const uint TILES = TILES_DOWN * TILES_ACROSS;

#define Sums coopmat<float, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>
#define FactorA coopmat<float16_t, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA>
#define FactorB coopmat<float16_t, gl_ScopeSubgroup, DEPTH, COLUMNS, gl_MatrixUseB>

shared f16vec4 slice_a[(TRANSPOSE_A ? SLICE : TILE) * STRIDE_A];
shared f16vec4 slice_b[(TRANSPOSE_B ? TILE : SLICE) * STRIDE_B];
shared float results[DOWN * ACROSS * ROWS * COLUMNS];  // one tile of each subgroup

uint bits_at(Halves data, uint base, uvec2 at, uvec2 end, uint stride) {
  const bool inside = at.x < end.x && at.y < end.y;
  const uint index = inside ? base + at.y * stride + at.x : 0;
  const uint word = data.v[index / 2];
  return inside ? word >> 16 * (index % 2) & 0xffff : 0;
}

// Four neighbours of a stored matrix from (column, row) `at` on, as bits; zeros from (column, row) `end` on.
uvec2 load_quad(Halves ones, HalfQuads quads, const bool aligned, uint base, uvec2 at, uvec2 end, uint stride) {
  if (aligned) {
    const bool inside = at.x < end.x && at.y < end.y;
    const uvec2 words = quads.v[inside ? (base + at.y * stride + at.x) / 4 : 0];
    return inside ? words : uvec2(0);
  }
  uvec4 bits;
  [[unroll]] for (uint i = 0; i < 4; i++) bits[i] = bits_at(ones, base, uvec2(at.x + i, at.y), end, stride);
  return bits.xz | bits.yw << 16;
}

// Which quad, (column, row), of a staged slice load `i` of this invocation brings: neighbours read neighbours.
uvec2 slot(uint i, const uint quads) {
  const uint id = i * INVOCATIONS + gl_LocalInvocationIndex;
  return uvec2(id % quads, id / quads);
}

uvec2 load_a(uint i, uint base, uint row, uint k, uint end) {
  const uvec2 at = (TRANSPOSE_A ? uvec2(row, k) : uvec2(k, row)) + slot(i, QUADS_A) * uvec2(4, 1);
  const uvec2 edge = TRANSPOSE_A ? uvec2(args.m, end) : uvec2(end, args.m);
  return load_quad(args.a, args.a_quads, ALIGNED_A, base, at, edge, TRANSPOSE_A ? args.m : args.k);
}

uvec2 load_b(uint i, uint base, uint column, uint k, uint end) {
  const uvec2 at = (TRANSPOSE_B ? uvec2(k, column) : uvec2(column, k)) + slot(i, QUADS_B) * uvec2(4, 1);
  const uvec2 edge = TRANSPOSE_B ? uvec2(end, args.n) : uvec2(args.n, end);
  return load_quad(args.b, args.b_quads, ALIGNED_B, base, at, edge, TRANSPOSE_B ? args.k : args.n);
}

f16vec4 halves(uvec2 bits) { return f16vec4(unpackFloat2x16(bits.x), unpackFloat2x16(bits.y)); }

// (column, row) in a subgroup's share of element `e` of tile `t`.
uvec2 element(uint t, uint e) {
  return uvec2(t % TILES_ACROSS * COLUMNS + e % COLUMNS, t / TILES_ACROSS * ROWS + e / COLUMNS);
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

  // The subgroup's share of the block.
  const uint down = gl_SubgroupID / ACROSS * (TILE / DOWN), across = gl_SubgroupID % ACROSS * (TILE / ACROSS);
  Sums c[TILES];
  [[unroll]] for (uint t = 0; t < TILES; t++) c[t] = Sums(0.0);
  uvec2 next_a[LOADS], next_b[LOADS];
  [[unroll]] for (uint i = 0; i < LOADS; i++) {
    next_a[i] = load_a(i, a_base, first_row, begin, end);
    next_b[i] = load_b(i, b_base, first_column, begin, end);
  }
  for (uint k = begin; k < end; k += SLICE) {
    barrier();
    [[unroll]] for (uint i = 0; i < LOADS; i++) {
      const uvec2 slot_a = slot(i, QUADS_A), slot_b = slot(i, QUADS_B);
      slice_a[slot_a.y * STRIDE_A + slot_a.x] = halves(next_a[i]);
      slice_b[slot_b.y * STRIDE_B + slot_b.x] = halves(next_b[i]);
    }
    barrier();
    if (k + SLICE < end) {
      [[unroll]] for (uint i = 0; i < LOADS; i++) {
        next_a[i] = load_a(i, a_base, first_row, k + SLICE, end);
        next_b[i] = load_b(i, b_base, first_column, k + SLICE, end);
      }
    }
    [[dont_unroll]] for (uint part = 0; part < SLICE; part += STRAIGHT) {
      [[unroll]] for (uint step = 0; step < STRAIGHT; step += DEPTH) {
        const uint s = part + step;
        FactorB b[TILES_ACROSS];
        [[unroll]] for (uint j = 0; j < TILES_ACROSS; j++) {
          const uint column = across + j * COLUMNS;
          if (TRANSPOSE_B)
            coopMatLoad(b[j], slice_b, column * STRIDE_B + s / 4, STRIDE_B, gl_CooperativeMatrixLayoutColumnMajor);
          else
            coopMatLoad(b[j], slice_b, s * STRIDE_B + column / 4, STRIDE_B, gl_CooperativeMatrixLayoutRowMajor);
        }
        [[unroll]] for (uint i = 0; i < TILES_DOWN; i++) {
          const uint row = down + i * ROWS;
          FactorA a;
          if (TRANSPOSE_A)
            coopMatLoad(a, slice_a, s * STRIDE_A + row / 4, STRIDE_A, gl_CooperativeMatrixLayoutColumnMajor);
          else
            coopMatLoad(a, slice_a, row * STRIDE_A + s / 4, STRIDE_A, gl_CooperativeMatrixLayoutRowMajor);
          [[unroll]] for (uint j = 0; j < TILES_ACROSS; j++) {
            c[i * TILES_ACROSS + j] = coopMatMulAdd(a, b[j], c[i * TILES_ACROSS + j]);
          }
        }
      }
    }
  }

  const uint base = group * args.m * args.n, own = gl_SubgroupID * ROWS * COLUMNS;
  const uvec2 first = uvec2(first_column + across, first_row + down);
  [[unroll]] for (uint t = 0; t < TILES; t++) {
    subgroupBarrier();
    coopMatStore(c[t], results, own, COLUMNS, gl_CooperativeMatrixLayoutRowMajor);
    subgroupBarrier();
    for (uint e = gl_SubgroupInvocationID; e < ROWS * COLUMNS; e += SUBGROUP) {
      const uvec2 at = first + element(t, e);
      if (at.x < args.n && at.y < args.m)
        args.y.v[base + at.y * args.n + at.x] = args.scale * results[own + e] + bias_of(at.x);
    }
  }
  if (!needs_finish()) return;
  for (uint t = 0; t < TILES; t++) {
    for (uint e = gl_SubgroupInvocationID; e < ROWS * COLUMNS; e += SUBGROUP) {
      const uvec2 at = first + element(t, e);
      const uint index = base + at.y * args.n + at.x;
      if (at.x < args.n && at.y < args.m) store_finished(index, args.y.v[index]);
    }
  }
}
