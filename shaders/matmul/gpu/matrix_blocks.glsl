// What kernels share that multiply blocks of outputs on matrix cores: how a workgroup's subgroups share a block, slices of
// both operands in shared memory, and the products of one. Expects HALF, the type of the operands, and how they lie:
// constants TRANSPOSE_A and TRANSPOSE_B.
#include "shaders/common/cooperative_matrix.glsl"

layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint INVOCATIONS = 128;
layout(constant_id = 2) const uint SUBGROUP = 32;
layout(constant_id = 3) const uint TILE_ROWS = 64;
layout(constant_id = 4) const uint TILE_COLUMNS = 64;
layout(constant_id = 5) const uint DOWN = 2;    // subgroups along the rows of the block
layout(constant_id = 6) const uint ACROSS = 2;  // and along its columns; DOWN * ACROSS * SUBGROUP = INVOCATIONS
layout(constant_id = 7) const uint ROWS = 16;
layout(constant_id = 8) const uint COLUMNS = 16;
layout(constant_id = 9) const uint DEPTH = 16;
layout(constant_id = 10) const uint SLICE = 32;  // values of k staged at a time
layout(constant_id = 11) const uint STAGES = 1;  // slices in shared memory; two need one barrier a slice

// Staged slices lie in packs of 8 values, in rows as they are stored. One more pack a row keeps rows in other banks.
const uint ROWS_A = TRANSPOSE_A ? SLICE : TILE_ROWS, PACKS_A = (TRANSPOSE_A ? TILE_ROWS : SLICE) / 8;
const uint ROWS_B = TRANSPOSE_B ? TILE_COLUMNS : SLICE, PACKS_B = (TRANSPOSE_B ? SLICE : TILE_COLUMNS) / 8;
const uint STRIDE_A = PACKS_A + 1, STRIDE_B = PACKS_B + 1;
const uint LOADS_A = ROWS_A * PACKS_A / INVOCATIONS, LOADS_B = ROWS_B * PACKS_B / INVOCATIONS;
// Values of k in straight code. The small products are those of a software driver, which would compile for seconds.
const uint STRAIGHT = DEPTH < 16 ? DEPTH : SLICE;
const uint TILES_DOWN = TILE_ROWS / DOWN / ROWS, TILES_ACROSS = TILE_COLUMNS / ACROSS / COLUMNS;

#define Sums coopmat<float, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>
#define FactorA coopmat<ELEMENT, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA>
#define FactorB coopmat<ELEMENT, gl_ScopeSubgroup, DEPTH, COLUMNS, gl_MatrixUseB>
const int by_rows = gl_CooperativeMatrixLayoutRowMajor, by_columns = gl_CooperativeMatrixLayoutColumnMajor;

const uint SLICE_A = ROWS_A * STRIDE_A, SLICE_B = ROWS_B * STRIDE_B, SLICES = STAGES * (SLICE_A + SLICE_B);
// After the sums, each subgroup has a strip of ROWS rows of its share there, where lanes know which element they see: in
// quads of f32, again with one more a row.
const uint SHARE_COLUMNS = TILE_COLUMNS / ACROSS, STRIP_STRIDE = SHARE_COLUMNS / 4 + 1;
const uint STRIPS = DOWN * ACROSS * ROWS * STRIP_STRIDE;
shared uvec4 staged[SLICES > STRIPS ? SLICES : STRIPS];

// Which pack, (column, row), of a staged slice load `i` of this invocation brings: neighbours read neighbours. Eight
// lanes store at a time. Of short rows they bring several, `together`, which are so far `apart` that no two packs meet
// in a bank.
uvec2 slot(uint i, const uint packs) {
  const uint id = i * INVOCATIONS + gl_LocalInvocationIndex, row = id / packs;
  const uint apart = min(packs, 8), together = 8 / apart;
  return uvec2(id % packs, row / 8 * 8 + row % together * apart + row / together % apart);
}

// Adds the products of the slices that lie from `at_a` and `at_b` on to the sums `c`, [down][across]. `down` and `across`
// are where the subgroup's share of the block begins.
#define MULTIPLY_SLICE(at_a, at_b)                                                        \
  [[dont_unroll]] for (uint part = 0; part < SLICE; part += STRAIGHT) {                   \
    [[unroll]] for (uint step = 0; step < STRAIGHT; step += DEPTH) {                      \
      const uint s = part + step;                                                         \
      FactorA a[TILES_DOWN];                                                              \
      [[unroll]] for (uint i = 0; i < TILES_DOWN; i++) {                                  \
        const uint row = down + i * ROWS;                                                 \
        if (TRANSPOSE_A)                                                                  \
          coopMatLoad(a[i], staged, at_a + s * STRIDE_A + row / 8, STRIDE_A, by_columns); \
        else                                                                              \
          coopMatLoad(a[i], staged, at_a + row * STRIDE_A + s / 8, STRIDE_A, by_rows);    \
      }                                                                                   \
      [[unroll]] for (uint j = 0; j < TILES_ACROSS; j++) {                                \
        const uint column = across + j * COLUMNS;                                         \
        FactorB b;                                                                        \
        if (TRANSPOSE_B)                                                                  \
          coopMatLoad(b, staged, at_b + column * STRIDE_B + s / 8, STRIDE_B, by_columns); \
        else                                                                              \
          coopMatLoad(b, staged, at_b + s * STRIDE_B + column / 8, STRIDE_B, by_rows);    \
        [[unroll]] for (uint i = 0; i < TILES_DOWN; i++)                                  \
          c[i * TILES_ACROSS + j] = coopMatMulAdd(a[i], b, c[i * TILES_ACROSS + j]);      \
      }                                                                                   \
    }                                                                                     \
  }

// The kernel's FINISH_STRIP of each strip of a share, of which there are TILES_DOWN. Not a loop: compilers that do not
// unroll loops around loops would put all sums into memory.
#define FINISH_STRIPS                                             \
  FINISH_STRIP(0) FINISH_STRIP(1) FINISH_STRIP(2) FINISH_STRIP(3) \
  FINISH_STRIP(4) FINISH_STRIP(5) FINISH_STRIP(6) FINISH_STRIP(7)
