#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// Products of each expert's weight with the rows of its pairs, or with TRANSPOSE_A the gradient of the weights, straight
// from memory, 4 x 4 outputs an invocation: for software drivers, and the fallback that is legal everywhere.
#extension GL_GOOGLE_include_directive : require
#include "shaders/expert_matmul/expert_matmul.args.h"

layout(local_size_x = 16, local_size_y = 4) in;
layout(constant_id = 0) const bool TRANSPOSE_A = false;
layout(constant_id = 1) const bool TRANSPOSE_B = false;

PUSH(ExpertMatmulArgs);
#define WITHOUT_PAIRS
#include "shaders/matmul/operands.glsl"
#include "shaders/expert_matmul/expert_rows.glsl"

uint place(Ints places, uint at) { return uint(places.v[min(at, args.pairs - 1)]); }

void main() {
  const uvec2 tile = 4 * gl_WorkGroupSize.xy;
  const uint column_tiles = (args.n + tile.x - 1) / tile.x;
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint column = group % column_tiles * tile.x + 4 * gl_LocalInvocationID.x;
  group /= column_tiles;
  uint row, end_row, begin = 0, end = args.k;
  if (TRANSPOSE_A) {
    const uint row_tiles = (args.m + tile.y - 1) / tile.y;
    expert = group / row_tiles;
    if (expert >= args.experts) return;
    row = group % row_tiles * tile.y;
    end_row = args.m;
    begin = uint(args.offsets.v[expert]);
    end = uint(args.offsets.v[expert + 1]);
  } else {
    if (group >= args.pairs / tile.y + args.experts || !find_rows(group, tile.y)) return;
    row = first_place;
    end_row = end_place;
  }
  row += 4 * gl_LocalInvocationID.y;

  // Rows and columns past the edge read the last one; they are not stored.
  const uvec4 rows = min(uvec4(row, row + 1, row + 2, row + 3), end_row - 1);
  const uvec4 columns = min(uvec4(column, column + 1, column + 2, column + 3), args.n - 1);
  uvec4 a_at = rows, b_at = columns;  // without TRANSPOSE_A where k is now
  if (!TRANSPOSE_A) {
    [[unroll]] for (uint i = 0; i < 4; i++) a_at[i] = place(args.a_places, rows[i]) * args.k;
    b_at = expert * args.k * args.n + columns * (TRANSPOSE_B ? args.k : 1);
  }
  vec4 sums[4] = {vec4(0), vec4(0), vec4(0), vec4(0)};
  for (uint k = begin; k < end; k++) {
    uvec4 a_now = a_at, b_now = b_at;
    if (TRANSPOSE_A) {
      a_now += place(args.a_places, k) * args.m;
      b_now += place(args.b_places, k) * args.n;
    }
    const vec4 b = vec4(b_one(b_now.x), b_one(b_now.y), b_one(b_now.z), b_one(b_now.w));
    [[unroll]] for (uint i = 0; i < 4; i++) sums[i] += a_one(a_now[i]) * b;
    a_at += TRANSPOSE_A ? 0 : 1;
    b_at += TRANSPOSE_A ? 0 : TRANSPOSE_B ? 1 : args.n;
  }
  [[unroll]] for (uint i = 0; i < 4; i++) {
    if (row + i >= end_row) continue;
    const uint start = (TRANSPOSE_A ? expert * args.m + row + i : place(args.order, row + i)) * args.n;
    [[unroll]] for (uint j = 0; j < 4; j++) {
      if (column + j < args.n) args.y.v[start + column + j] = sums[i][j] + bias_of(column + j);
    }
  }
}
