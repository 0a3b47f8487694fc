#version 460
// variant f32:
// variant f32_int64: -DINT64
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Sums over the rows of a matrix, column by column, in a fixed order. gl_WorkGroupID.x selects the columns, y the block
// of rows; the slices of a workgroup take every SLICES-th row of the block.
#extension GL_GOOGLE_include_directive : require
#include "shaders/column_sum/column_sum.args.h"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif

layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 1) const uint SLICES = 1;
layout(constant_id = 2) const uint PAIRS = 4;
#ifdef INT64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer LongWords { uint64_t v[]; };
#endif
#if defined(INT64) || defined(HALF)
layout(constant_id = 3) const bool PAIRED = false;
#else
const bool PAIRED = false;
#endif

PUSH(ColumnSumArgs);

shared vec2 slices[SLICES * LANES];
vec2 sums[PAIRS];

// Neighbours when loaded together, otherwise LANES apart.
uvec2 columns_of(uint k) {
  const uint first = 2 * (gl_WorkGroupID.x * PAIRS + k) * LANES, lane = gl_LocalInvocationID.x;
  return PAIRED ? first + 2 * lane + uvec2(0, 1) : first + lane + uvec2(0, LANES);
}

// Columns past the end read the last one; their sums are never stored.
vec2 load2(uint start, uint k) {
  const uvec2 column = min(columns_of(k), uvec2(args.columns - 1));
#if defined(HALF)
  if (PAIRED) return unpack_halves(args.x.v[(start + column.x) / 2]);
  return vec2(half_at(args.x, start + column.x), half_at(args.x, start + column.y));
#else
#ifdef INT64
  if (PAIRED) return uintBitsToFloat(unpackUint2x32(LongWords(args.x).v[(start + column.x) / 2]));
#endif
  return vec2(args.x.v[start + column.x], args.x.v[start + column.y]);
#endif
}

void store(uint column, float value) {
  if (column >= args.columns) return;
  if (column < args.split) args.sums.v[gl_WorkGroupID.y * args.split + column] = value;
  else args.tail.v[column - args.split] = value;
}

void main() {
  const uint slice = gl_LocalInvocationID.y;
  const uint first = gl_WorkGroupID.y * args.rows_per_block;
  const uint end = min(first + args.rows_per_block, args.rows);
  [[unroll]] for (uint k = 0; k < PAIRS; ++k) sums[k] = vec2(0);
  uint row = first + slice;
  for (; row + 3 * SLICES < end; row += 4 * SLICES) {
    const uint start = row * args.stride, step = SLICES * args.stride;
    [[unroll]] for (uint k = 0; k < PAIRS; ++k)
      sums[k] += (load2(start, k) + load2(start + step, k)) + (load2(start + 2 * step, k) + load2(start + 3 * step, k));
  }
  for (; row < end; row += SLICES) {
    [[unroll]] for (uint k = 0; k < PAIRS; ++k) sums[k] += load2(row * args.stride, k);
  }
  [[unroll]] for (uint k = 0; k < PAIRS; ++k) {
    const uint slot = slice * LANES + gl_LocalInvocationID.x;
    if (SLICES > 1) {
      barrier();  // the last pair's sum has been read
      slices[slot] = sums[k];
      barrier();
      for (uint step = SLICES / 2; step > 0; step /= 2) {
        if (slice < step) slices[slot] += slices[slot + step * LANES];
        barrier();
      }
      sums[k] = slices[slot];
    }
    if (slice == 0) {
      store(columns_of(k).x, sums[k].x);
      store(columns_of(k).y, sums[k].y);
    }
  }
}
