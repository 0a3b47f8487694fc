#version 460
// needs: cooperative_matrix
// needs bf16: bfloat16
// needs bf16_y: bfloat16
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// variant f16_y: -DHALF=1 -DA_HALF -DB_HALF -DY_HALF
// variant f16_y_through_floats: -DHALF=1 -DA_HALF -DB_HALF -DY_HALF -DTHROUGH_FLOATS
// variant bf16_y: -DHALF=2 -DA_HALF -DB_HALF -DY_HALF -DTHROUGH_FLOATS
// Product of 16-bit operands on matrix cores, summed in f32. A workgroup owns TILE_ROWS x TILE_COLUMNS outputs and walks
// K in slices staged through shared memory as they lie in memory, with zeros past the end of K. Each subgroup owns a share
// of the block, in tiles of ROWS x COLUMNS, the size that the device multiplies at once; the larger the share, the fewer
// bytes of shared memory a product needs. While a slice is multiplied the next one is on its way into registers. With
// -DTHROUGH_FLOATS no matrix of sums is of 16 bits, which not all devices have (NVIDIA not of bf16).
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 12) const bool TRANSPOSE_A = false;
layout(constant_id = 13) const bool TRANSPOSE_B = false;
// How many values a load brings at most, 8, 4 or 1: stored rows start at multiples of that and are made of them.
layout(constant_id = 14) const uint WHOLE_A = 1;
layout(constant_id = 15) const uint WHOLE_B = 1;
layout(constant_id = 16) const uint WHOLE_Y = 1;  // the same of y and of the residual

#include "shaders/matmul/gpu/matrix_blocks.glsl"

PUSH(MatmulArgs);
#include "shaders/common/half.glsl"
#include "shaders/matmul/epilogue.glsl"
#include "shaders/matmul/gpu/block_order.glsl"

#ifdef THROUGH_FLOATS
#elif defined(Y_HALF)
#define Results coopmat<ELEMENT, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>
#define ResultVectors HalfPacks
const uint VECTOR = 8;  // results in 16 bytes
#else
#define Results Sums
#define ResultVectors FloatQuads
const uint VECTOR = 4;
#endif
// Eight neighbours of a stored matrix from (column, row) `at` on, as bits; whatever there is from (column, row) `end` on.
// Nothing is done to whole ones before they are staged, a slice later: compilers wait for a load where its value is first
// touched, and NVIDIA's did so before it sent for the next.
uvec4 load_pack(Halves data, const uint whole, uint base, uvec2 at, uvec2 end, uint stride) {
  const uint index = base + at.y * stride + at.x;
  const bool in_row = at.y < end.y;
  if (whole == 8) return HalfPacks(data).v[in_row && at.x < end.x ? index / 8 : 0];
  uvec4 bits;
  [[unroll]] for (uint i = 0; i < 2; i++) {
    uvec2 words;
    if (whole == 4) {
      words = HalfQuads(data).v[in_row && at.x + 4 * i < end.x ? index / 4 + i : 0];
    } else {
      uint from[4];
      [[unroll]] for (uint e = 0; e < 4; e++) from[e] = in_row && at.x + 4 * i + e < end.x ? index + 4 * i + e : 0;
      words = gathered_halves(data, from);
    }
    bits[2 * i] = words.x;
    bits[2 * i + 1] = words.y;
  }
  return bits;
}

// What of a pack is summed: zeros for values of k from `end` on. Its own is `k`, or where it lies `along` k, that of the
// first. Rows and columns past the end make outputs that nobody keeps.
uvec4 up_to(uint end, uvec4 bits, uint k, const bool along, const uint whole) {
  if (!along || whole == 8) return k < end ? bits : uvec4(0);
  [[unroll]] for (uint i = 0; i < 4; i++)
    bits[i] = k + 2 * i + 1 < end ? bits[i] : k + 2 * i < end ? bits[i] & 0xffffu : 0;
  return bits;
}

uvec4 load_a(uint i, uint base, uint row, uint k, uint end) {
  const uvec2 at = (TRANSPOSE_A ? uvec2(row, k) : uvec2(k, row)) + slot(i, PACKS_A) * uvec2(8, 1);
  const uvec2 edge = TRANSPOSE_A ? uvec2(args.m, end) : uvec2(end, args.m);
  return load_pack(args.a, WHOLE_A, base, at, edge, TRANSPOSE_A ? args.m : args.k);
}

uvec4 load_b(uint i, uint base, uint column, uint k, uint end) {
  const uvec2 at = (TRANSPOSE_B ? uvec2(k, column) : uvec2(column, k)) + slot(i, PACKS_B) * uvec2(8, 1);
  const uvec2 edge = TRANSPOSE_B ? uvec2(end, args.n) : uvec2(args.n, end);
  return load_pack(args.b, WHOLE_B, base, at, edge, TRANSPOSE_B ? args.k : args.n);
}

// What a subgroup finishes of a strip: an invocation's quads are SUBGROUP apart, whole rows, and so in the same columns.
const uint ROW_QUADS = SHARE_COLUMNS / 4, STRIP_QUADS = (ROWS * ROW_QUADS + SUBGROUP - 1) / SUBGROUP;
// Residuals of a strip are sent for before it is written. (Of values with an activation there are hardly any.)
const bool residual_ahead = ACTIVATION == activation_none && WHOLE_Y >= 4;

uint y_base;    // the product's first element in y
uvec2 first;    // (column, row) of the subgroup's share
vec4 own_bias;  // of the invocation's columns
Y_QUAD residuals[STRIP_QUADS];

// Where quad `n` of strip `i` lies, as (column, row) of y, and whether it does.
uvec2 quad_at(uint i, uint n) {
  const uint e = n * SUBGROUP + gl_SubgroupInvocationID;
  return first + uvec2(4 * (e % ROW_QUADS), i * ROWS + e / ROW_QUADS);
}
bool has_quad(uint n, uvec2 at) {
  return n * SUBGROUP + gl_SubgroupInvocationID < ROWS * ROW_QUADS && at.x < args.n && at.y < args.m;
}

void send_for_residuals(uint i) {
  if (!residual_ahead || (args.flags & MATMUL_RESIDUAL) == 0) return;
  [[unroll]] for (uint n = 0; n < STRIP_QUADS; n++) {
    const uvec2 at = quad_at(i, n);
    const uint index = y_base + at.y * args.n + at.x;
    residuals[n] = args.residual_quads.v[has_quad(n, at) ? index / 4 : 0];
  }
}

vec4 scaled_quad(uint n) {
  const uint e = n * SUBGROUP + gl_SubgroupInvocationID, row = gl_SubgroupID * ROWS + e / ROW_QUADS;
  return args.scale * uintBitsToFloat(staged[row * STRIP_STRIDE + e % ROW_QUADS]) + own_bias;
}

void finish_strip(uint i) {
  if (residual_ahead) {
    [[unroll]] for (uint n = 0; n < STRIP_QUADS; n++) {
      const uvec2 at = quad_at(i, n);
      if (!has_quad(n, at)) continue;
      vec4 quad = scaled_quad(n);
      if ((args.flags & MATMUL_RESIDUAL) != 0) quad += values_of(residuals[n]);
      args.y_quads.v[(y_base + at.y * args.n + at.x) / 4] = stored(quad);
    }
  } else {
    [[dont_unroll]] for (uint n = 0; n < STRIP_QUADS; n++) {
      const uvec2 at = quad_at(i, n);
      if (has_quad(n, at))
        store_finished_quad(y_base + at.y * args.n + at.x, scaled_quad(n), args.n - at.x, WHOLE_Y >= 4);
    }
  }
}

void main() {
  const Block block = own_block();
  const uint product = block.product, first_row = block.first_row, first_column = block.first_column;
  if (product >= args.batch * args.splits) return;
  const uint a_base = product % args.batch * args.m * args.k, b_base = product % args.batch * args.k * args.n;
  const uint begin = product / args.batch * args.k_per_split, end = min(begin + args.k_per_split, args.k);

  // The subgroup's share of the block.
  const uint down = gl_SubgroupID / ACROSS * (TILE_ROWS / DOWN);
  const uint across = gl_SubgroupID % ACROSS * (TILE_COLUMNS / ACROSS);
  Sums c[TILES_DOWN * TILES_ACROSS];
  [[unroll]] for (uint t = 0; t < TILES_DOWN * TILES_ACROSS; t++) c[t] = Sums(0.0);

  // A slice is staged and the next (anything past the last) sent for, then it is multiplied. No condition is around the
  // sums: NVIDIA's compiler would move all of them where paths meet.
  uvec4 next_a[LOADS_A], next_b[LOADS_B];
#define LOAD_SLICE(first_k)                                                                             \
  [[unroll]] for (uint i = 0; i < LOADS_A; i++) next_a[i] = load_a(i, a_base, first_row, first_k, end); \
  [[unroll]] for (uint i = 0; i < LOADS_B; i++) next_b[i] = load_b(i, b_base, first_column, first_k, end);
  LOAD_SLICE(begin)
  uint stage = 0;
  [[dont_unroll]] for (uint k = begin; k < end; k += SLICE) {
    const uint at_a = stage * SLICE_A, at_b = STAGES * SLICE_A + stage * SLICE_B;
    if (STAGES == 1) barrier();
    [[unroll]] for (uint i = 0; i < LOADS_A; i++) {
      const uvec2 to = slot(i, PACKS_A);
      const uint own_k = k + (TRANSPOSE_A ? to.y : 8 * to.x);
      staged[at_a + to.y * STRIDE_A + to.x] = up_to(end, next_a[i], own_k, !TRANSPOSE_A, WHOLE_A);
    }
    [[unroll]] for (uint i = 0; i < LOADS_B; i++) {
      const uvec2 to = slot(i, PACKS_B);
      const uint own_k = k + (TRANSPOSE_B ? 8 * to.x : to.y);
      staged[at_b + to.y * STRIDE_B + to.x] = up_to(end, next_b[i], own_k, TRANSPOSE_B, WHOLE_B);
    }
    barrier();
    LOAD_SLICE(k + SLICE)
    MULTIPLY_SLICE(at_a, at_b)
    if (STAGES > 1) stage = 1 - stage;
  }
  barrier();

  // Blocks inside y without an activation are finished where they are summed, others and what saturates by lanes, strip
  // by strip. All subgroups of a workgroup meet as many barriers: there are drivers on which those of subgroups are its
  // own.
  const uint own = gl_SubgroupID * ROWS * STRIP_STRIDE;
  y_base = product * args.m * args.n;
  first = uvec2(first_column + across, first_row + down);
#ifndef THROUGH_FLOATS
  const bool inside = first_row + TILE_ROWS <= args.m && first_column + TILE_COLUMNS <= args.n;
  const bool as_they_are = ACTIVATION == activation_none && (args.flags & MATMUL_SATURATED) == 0;
  if (WHOLE_Y % VECTOR == 0 && as_they_are && inside) {
    const bool has_bias = (args.flags & MATMUL_BIAS) != 0, has_residual = (args.flags & MATMUL_RESIDUAL) != 0;
#define INDEX(i, j) ((y_base + (first.y + i * ROWS) * args.n + first.x + j * COLUMNS) / VECTOR)
    if (has_bias) {
      for (uint e = gl_SubgroupInvocationID; e < ROWS * ROW_QUADS; e += SUBGROUP) {
        const uint quad = e % ROW_QUADS;
        staged[own + e / ROW_QUADS * STRIP_STRIDE + quad] = floatBitsToUint(bias_quad(first.x + 4 * quad));
      }
      subgroupBarrier();
    }
    [[unroll]] for (uint j = 0; j < TILES_ACROSS; j++) {
      Sums bias = Sums(0.0);
      if (has_bias) coopMatLoad(bias, staged, own + j * COLUMNS / 4, STRIP_STRIDE, by_rows);
      Results residual[TILES_DOWN];
      if (has_residual)
        [[unroll]] for (uint i = 0; i < TILES_DOWN; i++)
          coopMatLoad(residual[i], ResultVectors(args.residual).v, INDEX(i, j), args.n / VECTOR, by_rows);
      [[unroll]] for (uint i = 0; i < TILES_DOWN; i++) {
        Sums result = args.scale * c[i * TILES_ACROSS + j] + bias;
        if (has_residual) result += Sums(residual[i]);
        coopMatStore(Results(result), ResultVectors(args.y).v, INDEX(i, j), args.n / VECTOR, by_rows);
      }
    }
    return;
  }
#endif
#define FINISH_STRIP(i)                                                                            \
  if (i < TILES_DOWN) {                                                                            \
    send_for_residuals(i);                                                                         \
    subgroupBarrier();                                                                             \
    [[unroll]] for (uint j = 0; j < TILES_ACROSS; j++)                                             \
      coopMatStore(c[i * TILES_ACROSS + j], staged, own + j * COLUMNS / 4, STRIP_STRIDE, by_rows); \
    subgroupBarrier();                                                                             \
    finish_strip(i);                                                                               \
  }
  own_bias = bias_quad(quad_at(0, 0).x);
  FINISH_STRIPS
}
