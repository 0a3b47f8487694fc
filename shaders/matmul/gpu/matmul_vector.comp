#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// Product of a few rows (ROWS = M) with a matrix, bound by reading the matrix once: decoding. A workgroup of 256
// invocations owns 32 columns as 8 quads and cuts K into 32 slices: neighbouring invocations read neighbouring
// addresses of b in either layout. The slices' partial sums meet in shared memory and are added in order.
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 1) const uint ROWS = 1;
layout(constant_id = 2) const bool TRANSPOSE_B = false;
layout(constant_id = 3) const bool ALIGNED_A = false;  // the rows of a start at whole quads; used with TRANSPOSE_B
layout(constant_id = 4) const bool ALIGNED_B = false;  // the stored rows of b do

PUSH(MatmulArgs);
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"

const uint COLUMNS = 32, SLICES = 32;
const uint QUADS = COLUMNS / 4;
shared vec4 partial_sums[ROWS * SLICES * QUADS];  // [row][slice][quad]

// Four values of row `row` of a, zeros past the end.
vec4 load_a(uint row_start, uint k) {
  if (ALIGNED_A) return a_quad((row_start + k) / 4);
  vec4 quad;
  for (uint i = 0; i < 4; i++) quad[i] = k + i < args.k ? a_one(row_start + min(k + i, args.k - 1)) : 0.0;
  return quad;
}

// Four neighbours of a stored row of b; past the end of the row (`last` is its last index), the last one again.
vec4 load_b(uint row_start, uint at, uint last) {
  if (ALIGNED_B) return b_quad((row_start + min(at, last - 3)) / 4);
  vec4 quad;
  for (uint i = 0; i < 4; i++) quad[i] = b_one(row_start + min(at + i, last));
  return quad;
}

void main() {
  const uint groups = (args.n + COLUMNS - 1) / COLUMNS;
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (group >= groups * args.batch) return;
  const uint first_column = group % groups * COLUMNS, product = group / groups;
  const uint a_base = product * args.m * args.k, b_base = product * args.k * args.n;
  const uint id = gl_LocalInvocationIndex;
  const uint quad = TRANSPOSE_B ? id / SLICES : id % QUADS, slice = TRANSPOSE_B ? id % SLICES : id / QUADS;
  const uint column = first_column + 4 * quad;

  vec4 sums[ROWS];
  [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = vec4(0);
  if (TRANSPOSE_B) {
    for (uint k = 4 * slice; k < args.k; k += 4 * SLICES) {
      mat4 b;
      [[unroll]] for (uint i = 0; i < 4; i++) {
        b[i] = load_b(b_base + min(column + i, args.n - 1) * args.k, k, args.k - 1);
      }
      [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] += load_a(a_base + r * args.k, k) * b;
    }
  } else {
    for (uint k = slice; k < args.k; k += SLICES) {
      const vec4 b = load_b(b_base + k * args.n, column, args.n - 1);
      [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] += a_one(a_base + r * args.k + k) * b;
    }
  }

  [[unroll]] for (uint r = 0; r < ROWS; r++) partial_sums[(r * SLICES + slice) * QUADS + quad] = sums[r];
  barrier();
  for (uint output_id = id; output_id < ROWS * COLUMNS; output_id += gl_WorkGroupSize.x) {
    const uint r = output_id / COLUMNS, own = output_id % COLUMNS;
    if (first_column + own >= args.n) continue;
    float sum = 0;
    for (uint s = 0; s < SLICES; s++) sum += partial_sums[(r * SLICES + s) * QUADS + own / 4][own % 4];
    store_finished((product * ROWS + r) * args.n + first_column + own,
                   args.scale * sum + bias_of(first_column + own));
  }
}
