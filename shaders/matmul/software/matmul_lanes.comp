#version 460
// variant f32:
// variant f32_f16: -DHALF=1 -DB_HALF
// variant f32_bf16: -DHALF=2 -DB_HALF
// variant f16: -DHALF=1 -DA_HALF -DB_HALF
// variant bf16: -DHALF=2 -DA_HALF -DB_HALF
// variant f32_int64: -DINT64
// variant f32_f16_int64: -DHALF=1 -DB_HALF -DINT64
// variant f32_bf16_int64: -DHALF=2 -DB_HALF -DINT64
// variant f16_int64: -DHALF=1 -DA_HALF -DB_HALF -DINT64
// variant bf16_int64: -DHALF=2 -DA_HALF -DB_HALF -DINT64
// Matrix product for software drivers and other small subgroups. One subgroup owns ROWS x (COLUMNS * SUBGROUP) outputs
// in registers. Such drivers load lane by lane and never merge neighbouring addresses, so the cheap ways to move data
// are 64-bit loads (two floats at the price of one) and broadcasts of a loaded vector's lanes: lanes run along the rows
// when A is loaded and along the columns when B is loaded, and each A value is then broadcast to all lanes. By
// subgroupBroadcast: with subgroupShuffle, subgroups of 16 take 6 times as long on lavapipe, those of 8 the same.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(constant_id = 0) const uint ACTIVATION = 0;
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint SUBGROUP = 8;
layout(constant_id = 2) const uint ROWS = 32;
layout(constant_id = 3) const uint COLUMNS = 8;  // per lane
layout(constant_id = 4) const bool TRANSPOSE_A = false;
layout(constant_id = 5) const bool TRANSPOSE_B = false;
layout(constant_id = 6) const bool PAIRS_A = false;  // the stored rows of A start 8-byte aligned
layout(constant_id = 7) const bool PAIRS_B = false;  // the same of B; without TRANSPOSE_B, COLUMNS is even, too
layout(constant_id = 8) const bool ADD_RESIDUAL = false;  // there is a residual and no activation before it
layout(constant_id = 9) const uint STEP = 4;              // values of k at a time, a multiple of 4

PUSH(MatmulArgs);
#include "shaders/matmul/operands.glsl"
#include "shaders/matmul/epilogue.glsl"
#include "shaders/matmul/software/register_tile.glsl"

const uint A_UNIT = PAIRS_A ? 2 : 1;
const bool PAIRED_ROWS = PAIRS_A && TRANSPOSE_A;
const uint ROWS_PER_LOAD = PAIRED_ROWS ? 2 * SUBGROUP : SUBGROUP;
const uint LOADS_PER_TILE = (ROWS + ROWS_PER_LOAD - 1) / ROWS_PER_LOAD;

// Where this lane's rows of A start, and the step from one k to the next where k is not contiguous, in pairs if PAIRS_A.
uint a_at[LOADS_PER_TILE], a_step;

// Four values from pair i on. Rows of floats are aligned to pairs, those of halves to quads.
#ifdef A_HALF
vec4 a_four(uint i) { return a_quad(i / 2); }
#else
vec4 a_four(uint i) { return vec4(a_pair(i), a_pair(i + 1)); }
#endif

void start_a() {
  [[unroll]] for (uint g = 0; g < LOADS_PER_TILE; g++) {
    const uint row = first_row + (g * SUBGROUP + gl_SubgroupInvocationID) * (PAIRED_ROWS ? 2 : 1);
    const uint clamped = min(row, PAIRED_ROWS ? args.m - 2 : args.m - 1);
    a_at[g] = (a_first + clamped * (TRANSPOSE_A ? 1 : args.k)) / A_UNIT;
  }
  a_step = args.m / A_UNIT;
}

// Adds the products of `steps` (STEP or 1) values of k.
void accumulate(uint k, const uint steps) {
  load_b(k, steps);
  [[unroll]] for (uint g = 0; g < LOADS_PER_TILE; g++) {
    float a[2 * STEP];  // [step], or [step][row parity] when two rows come as a pair
    if (PAIRS_A && !TRANSPOSE_A && steps > 1) {
      [[unroll]] for (uint h = 0; h < steps; h += 4) {
        const vec4 four = a_four(a_at[g] + (k + h) / 2);
        [[unroll]] for (uint i = 0; i < 4; i++) a[h + i] = four[i];
      }
    } else if (!PAIRED_ROWS) {
      [[unroll]] for (uint h = 0; h < steps; h++) {
        a[h] = a_one(a_at[g] * A_UNIT + (TRANSPOSE_A ? (k + h) * a_step : k + h));
      }
    } else {
      [[unroll]] for (uint h = 0; h < steps; h++) {
        const vec2 pair = a_pair(a_at[g] + (k + h) * a_step);
        a[2 * h] = pair.x, a[2 * h + 1] = pair.y;
      }
    }
    [[unroll]] for (uint r = 0; r < min(ROWS_PER_LOAD, ROWS - g * ROWS_PER_LOAD); r++) {
      [[unroll]] for (uint h = 0; h < steps; h++) {
        const float x = PAIRED_ROWS ? subgroupBroadcast(a[2 * h + r % 2], r / 2) : subgroupBroadcast(a[h], r);
        [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
          c[(g * ROWS_PER_LOAD + r) * COLUMNS + t] += x * b[h * COLUMNS + t];
        }
      }
    }
  }
}

void main() {
  if (!has_tile()) return;
  start_tile();
  start_a();
  uint k = first_k;
  for (; k + STEP <= end_k; k += STEP) accumulate(k, STEP);
  for (; k < end_k; k++) accumulate(k, 1);
  store_tile();
}
