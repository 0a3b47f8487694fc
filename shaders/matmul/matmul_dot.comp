#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Product of a few rows (ROWS = M) with a transposed matrix on lavapipe, bound by reading the matrix once: decoding. A
// subgroup owns as many columns of y, rows of b, as it has lanes. Lanes run along K, so that rows are read in vectors
// and prefetchers follow; at the end each lane adds up one column's sums.
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul_dot.args.h"
#include "shaders/matmul/matmul.args.h"

layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 1) const uint SUBGROUP = 8;
layout(constant_id = 2) const uint ROWS = 1;
layout(constant_id = 3) const uint BLOCK = 256;        // values of k at a time, a divisor of K
layout(constant_id = 4) const bool ONE_BLOCK = false;  // BLOCK is K
layout(constant_id = 5) const uint DIGITS = 1;         // of the workgroup's number

PUSH(MatmulDotArgs);
#include "shaders/common/uniform_number.glsl"
#include "shaders/common/vector_load.glsl"
#include "shaders/matmul/epilogue.glsl"

#ifdef HALF
const uint B_BYTES = 2;
float b_vector_at(uint64_t address) { return half_vector_at(address); }
#else
const uint B_BYTES = 4;
float b_vector_at(uint64_t address) { return vector_at(address); }
#endif

float c[ROWS * SUBGROUP];  // [row][column]
uint64_t b_row[SUBGROUP];

void accumulate(uint k) {
  [[unroll]] for (uint h = 0; h < BLOCK; h += SUBGROUP) {
    float a[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      a[r] = vector_at(uint64_t(args.a) + (uint64_t(r) * args.k + k) * 4 + h * 4);
    }
    [[unroll]] for (uint i = 0; i < SUBGROUP; i++) {
      const float b = b_vector_at(b_row[i] + uint64_t(k) * B_BYTES + h * B_BYTES);
      [[unroll]] for (uint r = 0; r < ROWS; r++) c[r * SUBGROUP + i] += a[r] * b;
    }
  }
}

// Halves the number of columns that a lane has sums of, and doubles the number of lanes that their sum is over.
float sum_of_own_column(uint r) {
  float sums[SUBGROUP];
  [[unroll]] for (uint i = 0; i < SUBGROUP; i++) sums[i] = c[r * SUBGROUP + i];
  [[unroll]] for (uint half_count = SUBGROUP / 2; half_count > 0; half_count /= 2) {
    const bool upper = (gl_SubgroupInvocationID & half_count) != 0;
    [[unroll]] for (uint i = 0; i < half_count; i++) {
      const float kept = upper ? sums[i + half_count] : sums[i], given = upper ? sums[i] : sums[i + half_count];
      sums[i] = kept + subgroupShuffleXor(given, half_count);
    }
  }
  return sums[0];
}

void main() {
  const uint first = uniform_number(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, DIGITS) * SUBGROUP;
  [[unroll]] for (uint i = 0; i < SUBGROUP; i++) {
    b_row[i] = uint64_t(args.b) + uint64_t(min(first + i, args.n - 1)) * args.k * B_BYTES;
  }
  [[unroll]] for (uint i = 0; i < ROWS * SUBGROUP; i++) c[i] = 0;
  if (ONE_BLOCK) {
    accumulate(0);
  } else {
    // Mesa 26 loads uniform values even if no lane is left in the loop.
    for (uint k = 0; k < args.k; k += BLOCK) accumulate(min(k, args.k - BLOCK));
  }
  const uint column = first + gl_SubgroupInvocationID;
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    const float sum = sum_of_own_column(r);
    if (column < args.n) store_finished(r * args.n + column, args.scale * sum + bias_of(column));
  }
}
