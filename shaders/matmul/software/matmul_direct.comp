#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// Matrix product straight from memory, 4 x 4 outputs an invocation: for drivers whose compilers leave loops and arrays
// as they are (SwiftShader), and the fallback that is legal everywhere.
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(local_size_x = 16, local_size_y = 4) in;
layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 1) const bool TRANSPOSE_A = false;
layout(constant_id = 2) const bool TRANSPOSE_B = false;

PUSH(MatmulArgs);
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"

void store_row(uint base, uint row, uint column, vec4 sums) {
  if (row >= args.m) return;
  for (uint i = 0; i < 4 && column + i < args.n; i++) {
    store_finished(base + row * args.n + column + i, args.scale * sums[i] + bias_of(column + i));
  }
}

void main() {
  const uvec2 tile = 4 * gl_WorkGroupSize.xy;
  const uint row_tiles = (args.m + tile.y - 1) / tile.y, column_tiles = (args.n + tile.x - 1) / tile.x;
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= row_tiles * column_tiles * args.batch) return;
  const uint row = group % row_tiles * tile.y + 4 * gl_LocalInvocationID.y;
  group /= row_tiles;
  const uint column = group % column_tiles * tile.x + 4 * gl_LocalInvocationID.x;
  const uint product = group / column_tiles;

  // Rows and columns past the edge read the last one; they are not stored.
  const uint a_step = TRANSPOSE_A ? args.m : 1, b_step = TRANSPOSE_B ? 1 : args.n;
  uvec4 a_at = min(uvec4(row, row + 1, row + 2, row + 3), args.m - 1) * (TRANSPOSE_A ? 1 : args.k);
  uvec4 b_at = min(uvec4(column, column + 1, column + 2, column + 3), args.n - 1) * (TRANSPOSE_B ? args.k : 1);
  a_at += product * args.m * args.k;
  b_at += product * args.k * args.n;
  vec4 row_0 = vec4(0), row_1 = vec4(0), row_2 = vec4(0), row_3 = vec4(0);
  for (uint k = 0; k < args.k; k++) {
    const vec4 b = vec4(b_one(b_at.x), b_one(b_at.y), b_one(b_at.z), b_one(b_at.w));
    row_0 += a_one(a_at.x) * b;
    row_1 += a_one(a_at.y) * b;
    row_2 += a_one(a_at.z) * b;
    row_3 += a_one(a_at.w) * b;
    a_at += a_step;
    b_at += b_step;
  }
  const uint base = product * args.m * args.n;
  store_row(base, row, column, row_0);
  store_row(base, row + 1, column, row_1);
  store_row(base, row + 2, column, row_2);
  store_row(base, row + 3, column, row_3);
}
