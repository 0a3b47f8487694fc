#version 460
// As matmul_panel, for lavapipe of Mesa 25, where lanes share loads only outside loops and branches: BLOCK values of
// k, unrolled. The next launch adds its own to what y holds. A subgroup owns a tile; those of a workgroup lie one below
// the other: they share what a workgroup costs, and while panels of b pass by, their rows of a stay in the second-level
// cache.
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/software/matmul_block.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(local_size_x_id = 1) in;
layout(constant_id = 2) const uint SUBGROUP = 8;
layout(constant_id = 3) const uint SUBGROUPS = 8;  // of a workgroup, at most 8
layout(constant_id = 4) const uint ROWS = 6;
layout(constant_id = 5) const uint COLUMNS = 2;  // per lane
layout(constant_id = 6) const uint BLOCK = 256;  // 256, 128 or 64
layout(constant_id = 7) const bool PANELS_A = false;
layout(constant_id = 8) const bool WHOLE = false;          // N is a multiple of the tile's columns
layout(constant_id = 9) const bool PAIRS = false;          // of columns are stored at once: WHOLE, y 8-byte aligned
layout(constant_id = 10) const bool ADD_RESIDUAL = false;  // after the activation
layout(constant_id = 11) const uint DIGITS = 1;            // of a workgroup's first two coordinates
layout(constant_id = 12) const uint PRODUCT_DIGITS = 0;    // of the third

PUSH(MatmulBlockArgs);
#include "shaders/common/activation.glsl"
#include "shaders/common/uniform_number.glsl"
#include "shaders/common/vector_load.glsl"

uint last_column;  // of the tile
uint at[ROWS];     // where rows of the tile start in y
float c[ROWS * COLUMNS];
uint64_t a_start[ROWS], a_middle[ROWS], b_panel;  // of a panel of a, only the first

// Values of k are loaded in spans, from their distance to the middle of one: so near, it takes one byte of an instruction
// instead of four. Code so long is bound by fetching it: this is a tenth faster (docs/history.md).
const uint SPAN = PANELS_A ? 8 : 64, A_BYTES = 4 * (PANELS_A ? ROWS : 1);  // of one value of k

// LLVM is not told that the digit is 1: it would load from the start, far away.
void begin_span(uint h) {
  [[unroll]] for (uint r = 0; r < (PANELS_A ? 1 : ROWS); r++) {
    a_middle[r] = a_start[r] + uint64_t(args.digits[1]) * ((h + SPAN / 2) * A_BYTES);
  }
}

// Four values of k.
void accumulate(uint h) {
  uvec4 quads[ROWS];  // of each row, or of all rows in turn
  const uint64_t distance = uint64_t(h % SPAN * A_BYTES) - SPAN / 2 * A_BYTES;
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    quads[r] = PANELS_A ? SharedQuads(a_middle[0] + distance).v[r] : SharedQuads(a_middle[r] + distance).v[0];
  }
  [[unroll]] for (uint i = 0; i < 4; i++) {
    float b[COLUMNS];
    [[unroll]] for (uint t = 0; t < COLUMNS; t++) b[t] = vector_at(b_panel + ((h + i) * COLUMNS + t) * SUBGROUP * 4);
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      const uint a = PANELS_A ? quads[(i * ROWS + r) / 4][(i * ROWS + r) % 4] : quads[r][i];
      [[unroll]] for (uint t = 0; t < COLUMNS; t++) c[r * COLUMNS + t] += uintBitsToFloat(a) * b[t];
    }
  }
}

float load(Floats data, uint index, uint column) {
  return WHOLE ? vector_at(uint64_t(data) + uint64_t(index + column) * 4)
               : data.v[index + min(column + gl_SubgroupInvocationID, last_column)];
}

// Even lanes get their x and the next lane's, odd ones the y of the lane before and their own.
uint64_t neighbours(float x, float y) {
  const bool odd = gl_SubgroupInvocationID % 2 != 0;
  const float kept = odd ? y : x, got = subgroupShuffleXor(odd ? x : y, 1);
  return word_of(odd ? vec2(got, kept) : vec2(kept, got));
}

// Rows past the edge are stored on top of the last one, which itself comes after them.
void store_tile(Floats data) {
  const uint lane = gl_SubgroupInvocationID, pair = lane % 2 == 0 ? lane : SUBGROUP + lane - 1;
  [[unroll]] for (uint j = 1; j <= ROWS; j++) {
    const uint r = ROWS - j;
    [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
      const uint first = t * SUBGROUP;
      if (PAIRS) {
        if (t % 2 == 0) {
          FloatPairWords(data).v[(at[r] + first + pair) / 2] = neighbours(c[r * COLUMNS + t], c[r * COLUMNS + t + 1]);
        }
      } else if (WHOLE || first + lane <= last_column) {
        data.v[at[r] + first + lane] = c[r * COLUMNS + t];
      }
    }
  }
}

void main() {
  const uint row_tile = uniform_number(gl_WorkGroupID.y, DIGITS) * SUBGROUPS + args.digits[gl_SubgroupID];
  const uint panel = uniform_number(gl_WorkGroupID.x, DIGITS);
  const uint product = uniform_number(gl_WorkGroupID.z, PRODUCT_DIGITS);
  const uint first_row = row_tile * ROWS, first_column = panel * COLUMNS * SUBGROUP;
  last_column = args.n - 1 - first_column;

  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    const uint row = product * args.m + min(first_row + r, args.m - 1);
    at[r] = row * args.n + first_column;
    const uint a_tile = product * args.row_tiles + min(row_tile, args.row_tiles - 1);
    a_start[r] = uint64_t(args.a) + uint64_t(PANELS_A ? a_tile : row) * args.a_length * A_BYTES;
  }
  b_panel = uint64_t(args.b) + uint64_t(product * args.panels + panel) * args.b_length * (COLUMNS * SUBGROUP * 4);

  float before[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) {
    c[i] = 0;
    const float loaded = load(args.before, at[i / COLUMNS], i % COLUMNS * SUBGROUP);
    before[i] = args.has_before != 0 ? loaded : 0;
  }

  [[unroll]] for (uint h = 0; h < BLOCK; h += 4) {
    if (h % SPAN == 0) begin_span(h);
    accumulate(h);
  }

  [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
    const float loaded = load(args.bias, first_column, t * SUBGROUP), bias = args.has_bias != 0 ? loaded : 0;
    [[unroll]] for (uint i = t; i < ROWS * COLUMNS; i += COLUMNS) c[i] = before[i] + args.scale * c[i] + bias;
  }
  // In loops, of one turn if there is a tile: without, LLVM moves the arithmetic in between the stores, away from its
  // loads, which it then leaves apart.
  const uint times = row_tile < args.row_tiles ? 1 : 0;
  if (ACTIVATION != activation_none) {
    for (uint i = 0; i < times * args.has_pre_activation; i++) store_tile(args.pre_activation);
    [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) {
      c[i] = activate(ACTIVATION, c[i]);
      if (ADD_RESIDUAL) c[i] += load(args.residual, at[i / COLUMNS], i % COLUMNS * SUBGROUP);
    }
  }
  for (uint i = 0; i < times; i++) store_tile(args.y);
}
