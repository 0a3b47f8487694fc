#version 460
// needs f16: cooperative_matrix2
// needs bf16: cooperative_matrix2
// needs f16_y: cooperative_matrix2
// needs bf16: bfloat16
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// variant f16_y: -DHALF=1 -DA_HALF -DB_HALF -DY_HALF
// variant f16_plain: -DPLAIN -DHALF=1 -DA_HALF -DB_HALF
// variant bf16_plain: -DPLAIN -DHALF=2 -DA_HALF -DB_HALF
// variant f16_y_plain: -DPLAIN -DHALF=1 -DA_HALF -DB_HALF -DY_HALF
// Product of 16-bit operands on matrix cores, summed in f32, whose blocks of TILE_ROWS x TILE_COLUMNS outputs belong to
// a whole workgroup: the driver stages the operands and spreads the work over subgroups. The plain variants walk the
// same blocks and slices without matrix cores: they prove that walk on devices that have none.
#extension GL_GOOGLE_include_directive : require
#ifndef PLAIN
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#if HALF == 2
#extension GL_EXT_bfloat16 : require
#define ELEMENT bfloat16_t
#else
#define ELEMENT float16_t
#endif
#endif
#include "shaders/matmul/matmul.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint INVOCATIONS = 256;
layout(constant_id = 2) const uint TILE_ROWS = 128;
layout(constant_id = 3) const uint TILE_COLUMNS = 128;
layout(constant_id = 4) const uint SLICE = 64;  // values of k loaded at a time
layout(constant_id = 5) const bool TRANSPOSE_A = false;
layout(constant_id = 6) const bool TRANSPOSE_B = false;
layout(constant_id = 7) const bool ALIGNED = false;  // stored rows of a, b and y start at multiples of 8 values
layout(constant_id = 8) const uint CLAMP = 1;  // 1: zeros past the edges; 0: m, n and k are whole blocks and slices

PUSH(MatmulArgs);
#include "shaders/common/half.glsl"
#include "shaders/matmul/epilogue.glsl"
#include "shaders/matmul/gpu/block_order.glsl"

#ifdef PLAIN

const uint QUADS = TILE_ROWS * TILE_COLUMNS / 4 / INVOCATIONS;

// Element (row, column) of a stored matrix that begins at element `base`; zero from (rows, columns) on.
float element(Halves data, uint base, uvec2 at, uvec2 size, uint stride) {
  return all(lessThan(at, size)) ? half_at(data, base + at.x * stride + at.y) : 0;
}
float element_a(uint base, uint row, uint k, uint depth) {
  return TRANSPOSE_A ? element(args.a, base, uvec2(k, row), uvec2(depth, args.m), args.m)
                     : element(args.a, base, uvec2(row, k), uvec2(args.m, depth), args.k);
}
float element_b(uint base, uint k, uint column, uint depth) {
  return TRANSPOSE_B ? element(args.b, base, uvec2(column, k), uvec2(args.n, depth), args.k)
                     : element(args.b, base, uvec2(k, column), uvec2(depth, args.n), args.n);
}
// (Row, column) in the block of quad `i` of this invocation.
uvec2 own_quad(uint i) {
  const uint id = i * INVOCATIONS + gl_LocalInvocationIndex;
  return uvec2(id / (TILE_COLUMNS / 4), id % (TILE_COLUMNS / 4) * 4);
}

void multiply(Block block, uint a_base, uint b_base, uint y_base, uint depth) {
  vec4 c[QUADS];
  [[dont_unroll]] for (uint i = 0; i < QUADS; i++) c[i] = vec4(0);
  [[dont_unroll]] for (uint k = 0; k < depth; k += SLICE)
    [[dont_unroll]] for (uint i = 0; i < QUADS; i++) {
      const uvec2 at = uvec2(block.first_row, block.first_column) + own_quad(i);
      if (at.x >= args.m || at.y >= args.n) continue;
      [[dont_unroll]] for (uint s = k; s < k + SLICE; s++) {
        const float a = element_a(a_base, at.x, s, depth);
        [[unroll]] for (uint j = 0; j < 4; j++) c[i][j] += a * element_b(b_base, s, at.y + j, depth);
      }
    }
  [[dont_unroll]] for (uint i = 0; i < QUADS; i++) {
    const uvec2 at = uvec2(block.first_row, block.first_column) + own_quad(i);
    if (at.x >= args.m || at.y >= args.n) continue;
    store_finished_quad(y_base + at.x * args.n + at.y, args.scale * c[i] + bias_quad(at.y), args.n - at.y, false);
  }
}

#else

#ifdef Y_HALF
#define RESULT ELEMENT
#define ResultVectors HalfPacks
const uint VECTOR = 8;  // results in 16 bytes
#else
#define RESULT float
#define ResultVectors FloatQuads
const uint VECTOR = 4;
#endif
#define Sums coopmat<float, gl_ScopeWorkgroup, TILE_ROWS, TILE_COLUMNS, gl_MatrixUseAccumulator>
#define Results coopmat<RESULT, gl_ScopeWorkgroup, TILE_ROWS, TILE_COLUMNS, gl_MatrixUseAccumulator>
#define FactorA coopmat<ELEMENT, gl_ScopeWorkgroup, TILE_ROWS, SLICE, gl_MatrixUseA>
#define FactorB coopmat<ELEMENT, gl_ScopeWorkgroup, SLICE, TILE_COLUMNS, gl_MatrixUseB>
#define Layout tensorLayoutNV<2, CLAMP>

// Slices in straight code.
const uint UNROLL = 4;

// A matrix stored in rows, `stride` apart; strides without their lowest bits tell the compiler of loads of 16 bytes.
#define STORED(name, rows, columns, stride)               \
  Layout name = createTensorLayoutNV(2, CLAMP);           \
  name = setTensorLayoutDimensionNV(name, rows, columns); \
  name = setTensorLayoutStrideNV(name, ALIGNED ? (stride) & ~7u : stride, 1);

float activated(const in uint row, const in uint column, const in float value) { return activate(ACTIVATION, value); }
float within(const in uint row, const in uint column, const in float value) { return within_half(vec2(value)).x; }

void multiply(Block block, uint a_base, uint b_base, uint y_base, uint depth) {
  STORED(in_a, TRANSPOSE_A ? depth : args.m, TRANSPOSE_A ? args.m : depth, TRANSPOSE_A ? args.m : args.k)
  STORED(in_b, TRANSPOSE_B ? args.n : depth, TRANSPOSE_B ? depth : args.n, TRANSPOSE_B ? args.k : args.n)
  const tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);
  HalfPacks packs_a = HalfPacks(args.a), packs_b = HalfPacks(args.b);
  const uint row = block.first_row, column = block.first_column;
  Sums c = Sums(0.0);
#define ADD_SLICE(k)                                                                                                  \
  {                                                                                                                   \
    FactorA a;                                                                                                        \
    FactorB b;                                                                                                        \
    if (TRANSPOSE_A)                                                                                                  \
      coopMatLoadTensorNV(a, packs_a.v, a_base / 8, sliceTensorLayoutNV(in_a, k, SLICE, row, TILE_ROWS), transposed); \
    else                                                                                                              \
      coopMatLoadTensorNV(a, packs_a.v, a_base / 8, sliceTensorLayoutNV(in_a, row, TILE_ROWS, k, SLICE));             \
    if (TRANSPOSE_B)                                                                                                  \
      coopMatLoadTensorNV(b, packs_b.v, b_base / 8, sliceTensorLayoutNV(in_b, column, TILE_COLUMNS, k, SLICE),        \
                          transposed);                                                                                \
    else                                                                                                              \
      coopMatLoadTensorNV(b, packs_b.v, b_base / 8, sliceTensorLayoutNV(in_b, k, SLICE, column, TILE_COLUMNS));       \
    c = coopMatMulAdd(a, b, c);                                                                                       \
  }
  uint k = 0;
  for (; k + UNROLL * SLICE <= depth; k += UNROLL * SLICE) {
    [[unroll]] for (uint i = 0; i < UNROLL; i++) ADD_SLICE(k + i * SLICE)
  }
  [[dont_unroll]] for (; k < depth; k += SLICE) ADD_SLICE(k)

  STORED(in_y, args.m, args.n, args.n)
#define OWN_BLOCK(from) \
  ResultVectors(from).v, y_base / VECTOR, sliceTensorLayoutNV(in_y, row, TILE_ROWS, column, TILE_COLUMNS)
  c = args.scale * c;
  if ((args.flags & MATMUL_BIAS) != 0) {
    Layout in_bias = createTensorLayoutNV(2, CLAMP);
    in_bias = setTensorLayoutDimensionNV(in_bias, args.m, args.n);
    in_bias = setTensorLayoutStrideNV(in_bias, 0, 1);
    Sums bias;
    coopMatLoadTensorNV(bias, args.bias.v, 0, sliceTensorLayoutNV(in_bias, row, TILE_ROWS, column, TILE_COLUMNS));
    c += bias;
  }
  const bool saturated = (args.flags & MATMUL_SATURATED) != 0;
  if (saturated && ACTIVATION != activation_none) coopMatPerElementNV(c, c, within);
  if ((args.flags & MATMUL_PRE_ACTIVATION) != 0) coopMatStoreTensorNV(Results(c), OWN_BLOCK(args.pre_activation));
  if (ACTIVATION != activation_none) {
    c = Sums(Results(c));
    coopMatPerElementNV(c, c, activated);
  }
  if ((args.flags & MATMUL_RESIDUAL) != 0) {
    Results residual;
    coopMatLoadTensorNV(residual, OWN_BLOCK(args.residual));
    c += Sums(residual);
  }
  if (saturated) coopMatPerElementNV(c, c, within);
  coopMatStoreTensorNV(Results(c), OWN_BLOCK(args.y));
}
#endif

void main() {
  const Block block = own_block();
  if (block.product >= args.batch * args.splits) return;
  const uint product = block.product % args.batch;
  // A range of K is all of K of matrices that begin with it. So k starts at a constant and the compiler sees that slices
  // start at whole vectors: from a k that was computed NVIDIA's loaded single values (47 TFLOP/s of an H200, not 314).
  const uint begin = block.product / args.batch * args.k_per_split;
  multiply(block, product * args.m * args.k + (TRANSPOSE_A ? begin * args.m : begin),
           product * args.k * args.n + (TRANSPOSE_B ? begin : begin * args.n), block.product * args.m * args.n,
           min(args.k_per_split, args.k - begin));
}
