#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Product of a few rows (ROWS = M) with a transposed matrix on lavapipe, bound by reading the matrix once: decoding. A
// subgroup owns as many columns of y, rows of b, as it has lanes. Lanes run along K, so that rows are read in vectors
// and prefetchers follow; at the end each lane adds up one column's sums. NORMED and GATED take in the ops before and
// after, see normed_product.h.
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"
#include "shaders/matmul/software/matmul_dot.args.h"

layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint ACTIVATION = 0;
layout(constant_id = 1) const uint SUBGROUP = 8;
layout(constant_id = 2) const uint ROWS = 1;
layout(constant_id = 3) const uint BLOCK = 256;        // values of k at a time, a divisor of K
layout(constant_id = 4) const bool ONE_BLOCK = false;  // BLOCK is K
layout(constant_id = 5) const uint DIGITS = 1;         // of the workgroup's number
layout(constant_id = 6) const bool NORMED = false;     // a's rows count divided by their root mean square, times gain
layout(constant_id = 7) const bool GATED = false;      // b: N / 2 gates, then what they gate; y [M, N / 2]

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
float squares[ROWS];       // this lane's part of the sum of a's
uint64_t b_row[SUBGROUP];

// The number of the row of b that lane `i` adds up, one that exists.
uint number_of_row(uint group, uint i) {
  const uint wanted = GATED ? group * (SUBGROUP / 2) + i % (SUBGROUP / 2) : group * SUBGROUP + i;
  const uint second = GATED && i >= SUBGROUP / 2 ? args.n / 2 : 0;
  return min(wanted, (GATED ? args.n / 2 : args.n) - 1) + second;
}

void accumulate(uint k) {
  [[unroll]] for (uint h = 0; h < BLOCK; h += SUBGROUP) {
    float a[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
      a[r] = vector_at(uint64_t(args.a) + (uint64_t(r) * args.k + k) * 4 + h * 4);
      if (NORMED) squares[r] += a[r] * a[r];
    }
    if (NORMED) {
      const float gain = args.gain_offset + vector_at(uint64_t(args.gain) + uint64_t(k) * 4 + h * 4);
      [[unroll]] for (uint r = 0; r < ROWS; r++) a[r] *= gain;
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

float reciprocal_rms(uint r) {
  float sum = squares[r];
  [[unroll]] for (uint i = SUBGROUP / 2; i > 0; i /= 2) sum += subgroupShuffleXor(sum, i);
  return 1 / sqrt(sum / args.k + args.epsilon);
}

void main() {
  const uint group = uniform_number(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, DIGITS);
  [[unroll]] for (uint i = 0; i < SUBGROUP; i++) {
    b_row[i] = uint64_t(args.b) + uint64_t(number_of_row(group, i)) * args.k * B_BYTES;
  }
  [[unroll]] for (uint i = 0; i < ROWS * SUBGROUP; i++) c[i] = 0;
  [[unroll]] for (uint r = 0; r < ROWS; r++) squares[r] = 0;
  if (ONE_BLOCK) {
    accumulate(0);
  } else {
    // Mesa 26 loads uniform values even if no lane is left in the loop.
    for (uint k = 0; k < args.k; k += BLOCK) accumulate(min(k, args.k - BLOCK));
  }
  const uint lane = gl_SubgroupInvocationID, own = number_of_row(group, lane);
  const uint own_lanes = GATED ? SUBGROUP / 2 : SUBGROUP, columns = GATED ? args.n / 2 : args.n;
  [[unroll]] for (uint r = 0; r < ROWS; r++) {
    const float sum = sum_of_own_column(r) * (NORMED ? reciprocal_rms(r) : 1);
    const float value = args.scale * sum + bias_of(own);
    // One way to store for both: LLVM sinks arithmetic into the only block that uses its result, away from the loads.
    const float gated = GATED ? subgroupShuffleXor(value, SUBGROUP / 2) : 1;
    if (lane < own_lanes && group * own_lanes + lane < columns) {
      const uint index = r * columns + group * own_lanes + lane;
      store_gated(index, value, gated, residual_of(index));
    }
  }
}
