#version 460
// variant f32: -DINT64
// Matrix product for lavapipe of Mesa 26, on operands that matmul_pack has put in panels: b always, a when it is
// transposed. Both are read as streams, b in vectors and a as values that all lanes share, so that few loads are left,
// and sums need not be so many that they leave the registers.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"
#include "shaders/matmul/software/matmul_panel.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint SUBGROUP = 8;
layout(constant_id = 2) const uint ROWS = 6;
layout(constant_id = 3) const uint COLUMNS = 2;  // per lane
layout(constant_id = 4) const bool PANELS_A = false;
layout(constant_id = 5) const bool ADD_RESIDUAL = false;  // there is a residual and no activation before it

const bool TRANSPOSE_B = false, PAIRS_B = false;
const uint STEP = MATMUL_PANEL_STEP;

PUSH(MatmulArgs);
#include "shaders/common/vector_load.glsl"
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"
#include "shaders/matmul/software/register_tile.glsl"

uint64_t a_row[ROWS], b_panel;

// STEP values from k on, in panels; a that is not in one has them from k_of_a on.
void accumulate(uint k, uint k_of_a) {
  const uint64_t b_k = b_panel + uint64_t(k) * (COLUMNS * SUBGROUP * 4);
  [[unroll]] for (uint h = 0; h < STEP; h++) {
    float b_h[COLUMNS];
    [[unroll]] for (uint t = 0; t < COLUMNS; t++) b_h[t] = vector_at(b_k + (h * COLUMNS + t) * SUBGROUP * 4);
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      const float a_h = PANELS_A ? uintBitsToFloat(SharedWords(a_row[0] + uint64_t(k) * (ROWS * 4)).v[h * ROWS + r])
                                 : uintBitsToFloat(SharedWords(a_row[r] + uint64_t(k_of_a) * 4).v[h]);
      [[unroll]] for (uint t = 0; t < COLUMNS; t++) c[r * COLUMNS + t] += a_h * b_h[t];
    }
  }
}

void main() {
  const uint row_blocks = (row_tiles() + MATMUL_PANEL_TILES - 1) / MATMUL_PANEL_TILES;
  uint group = tile_number();
  const uint in_block = group % MATMUL_PANEL_TILES;
  group /= MATMUL_PANEL_TILES;
  const uint panel = group % column_tiles();
  group /= column_tiles();
  const uint row_tile = group % row_blocks * MATMUL_PANEL_TILES + in_block, product = group / row_blocks;
  if (row_tile >= row_tiles() || product >= args.batch) return;
  first_row = row_tile * ROWS;
  first_column = panel * COLUMNS * SUBGROUP;
  y_first = product * args.m * args.n;
  const uint depth = (args.k + STEP - 1) / STEP * STEP;  // of panels: see matmul_pack
  b_panel = uint64_t(args.b) + uint64_t((product * column_tiles() + panel) * depth) * (COLUMNS * SUBGROUP * 4);
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    const uint at = PANELS_A ? (product * row_tiles() + row_tile) * ROWS : product * args.m + min(first_row + r, args.m - 1);
    a_row[r] = uint64_t(args.a) + uint64_t(at) * (PANELS_A ? depth : args.k) * 4;
  }
  [[unroll]] for (uint t = 0; t < COLUMNS; t++) columns[t] = first_column + t * SUBGROUP + gl_SubgroupInvocationID;
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) c[i] = 0;
  // Loads of what lanes share are done even when no lane is left in the loop.
  for (uint k = 0; k < depth; k += STEP) accumulate(min(k, depth - STEP), min(k, args.k - STEP));
  store_tile();
}
