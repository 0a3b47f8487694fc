#ifndef VKFORMER_ROWS_GLSL
#define VKFORMER_ROWS_GLSL
// Rows of COLUMNS floats, each spread over the invocations of one workgroup, which takes some rows one after the other.
// Launched through rows.h, which fills constants 0 to 3; a kernel's own constants start at 4. Its push constants have
// `Rows rows`.
//
// An invocation owns the same COUNT pairs of columns in every row. Every sum runs in a fixed order. Compiled with
//   -DSUBGROUP  the workgroup is exactly one full subgroup and reductions are shuffles
//   -DSUBGROUPS it is several full ones: shuffles, then shared memory; without either, all through shared memory
//   -DINT64     aligned pairs travel as 64-bit words, half the price on drivers that load lane by lane
//   -DHALF=...  `Reals` are 16-bit floats (half.glsl), two to a word; rows of an odd number can only be read
// (A pointer cast to FloatPairs would do without 64-bit integers, but SwiftShader cannot compile the cast.)
#include "shaders/common/rows.args.h"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;        // a power of two
layout(constant_id = 1) const uint COLUMNS = 1;
layout(constant_id = 3) const uint STEP = 1;         // pairs of columns taken at a time when a row is walked

const uint COUNT = (COLUMNS + 2 * LANES - 1) / (2 * LANES);

#if defined(INT64) || defined(HALF)
layout(constant_id = 2) const bool PAIRED = false;  // COLUMNS is even and every matrix starts at a whole word of two
#else
const bool PAIRED = false;
#endif

// Of RowFloats: one, and the aligned pair that starts at an even index.
#ifdef HALF
float float_at(FloatPairs data, uint i) { return data.v[i / 2][i % 2]; }
void put_float(FloatPairs data, uint i, float value) { data.v[i / 2][i % 2] = value; }
vec2 load_pair(FloatPairs data, uint first) { return data.v[first / 2]; }
void store_pair(FloatPairs data, uint first, vec2 value) { data.v[first / 2] = value; }
#else
float float_at(Floats data, uint i) { return data.v[i]; }
void put_float(Floats data, uint i, float value) { data.v[i] = value; }
#ifdef INT64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer LongWords { uint64_t v[]; };
vec2 load_pair(Floats data, uint first) {
  return uintBitsToFloat(unpackUint2x32(LongWords(data).v[first / 2]));
}
void store_pair(Floats data, uint first, vec2 value) {
  LongWords(data).v[first / 2] = packUint2x32(floatBitsToUint(value));
}
#else
vec2 load_pair(Floats data, uint first) { return vec2(0); }
void store_pair(Floats data, uint first, vec2 value) {}
#endif
#endif

uint lane() { return gl_LocalInvocationID.x; }
uint row_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

// The n-th pair of columns of this invocation: neighbours when loaded together, otherwise LANES apart.
uvec2 columns_of(uint n) {
  const uint first = 2 * n * LANES;
  return PAIRED ? first + 2 * lane() + uvec2(0, 1) : first + lane() + uvec2(0, LANES);
}

// No lane's n-th pair lies past the end: known while compiling where the loop over n is unrolled.
bool whole(uint n) { return 2 * (n + 1) * LANES <= COLUMNS; }

// The n-th pair of the row that starts at element `start`; `fill` for columns past the end, unless all are `inside`.
vec2 load2(RowFloats data, uint start, uint n, bool inside, float fill) {
  const uvec2 column = columns_of(n);
  const uvec2 safe = inside ? column : min(column, uvec2(COLUMNS - 1));
  const vec2 value = PAIRED ? load_pair(data, start + safe.x)
                            : vec2(float_at(data, start + safe.x), float_at(data, start + safe.y));
  return inside ? value : mix(vec2(fill), value, lessThan(column, uvec2(COLUMNS)));
}

void store2(RowFloats data, uint start, uint n, bool inside, vec2 value) {
  const uvec2 column = columns_of(n);
  if (PAIRED) {
    if (inside || column.x < COLUMNS) store_pair(data, start + column.x, value);
  } else {
    if (inside || column.x < COLUMNS) put_float(data, start + column.x, value.x);
    if (inside || column.y < COLUMNS) put_float(data, start + column.y, value.y);
  }
}

// The same for Reals. (glslang 12 can't overload by kind of reference.)
#ifdef HALF
vec2 load_real_pair(Halves data, uint first) { return unpack_halves(data.v[first / 2]); }
void store_real_pair(Halves data, uint first, vec2 value) { data.v[first / 2] = pack_halves(value); }
float real_at(Halves data, uint i) { return half_at(data, i); }

vec2 load_reals2(Halves data, uint start, uint n, bool inside, float fill) {
  const uvec2 column = columns_of(n);
  const uvec2 safe = inside ? column : min(column, uvec2(COLUMNS - 1));
  const vec2 value = PAIRED ? load_real_pair(data, start + safe.x)
                            : vec2(half_at(data, start + safe.x), half_at(data, start + safe.y));
  return inside ? value : mix(vec2(fill), value, lessThan(column, uvec2(COLUMNS)));
}

// Of PAIRED rows alone: in others two invocations would share a word.
void store_reals2(Halves data, uint start, uint n, bool inside, vec2 value) {
  const uint column = columns_of(n).x;
  if (inside || column < COLUMNS) store_real_pair(data, start + column, value);
}
#else
#define load_real_pair load_pair
#define store_real_pair store_pair
#define load_reals2 load2
#define store_reals2 store2
#define real_at float_at
#define saturated(x, most) (x)
#endif

// Loops test at their end: CPU drivers run the rest of a body, masked, once more after a test at its start has failed.

// Takes the workgroup's rows one after the other: take_row(row).
#define ROW_LOOP(take_row) ROW_LOOP_OF(row_group(), take_row)

// The same of the rows that workgroup `group` has.
#define ROW_LOOP_OF(group, take_row)                                      \
  {                                                                       \
    uint row = (group) * args.rows.per_group;                             \
    if (row >= args.rows.count) return;                                   \
    const uint end = min(row + args.rows.per_group, args.rows.count);     \
    do take_row(row);                                                     \
    while (++row < end);                                                  \
  }

// Walks a row, STEP pairs at a time: take(n, inside) handles pairs n to n + STEP - 1. Short rows take a single step.
const uint WHOLE_STEPS = COLUMNS / (2 * LANES * STEP);
#define WALK(take)                                                          \
  {                                                                         \
    uint n = 0;                                                             \
    if (WHOLE_STEPS > 0) do take(n, true);                                  \
    while ((n += STEP) < WHOLE_STEPS * STEP);                               \
    if (WHOLE_STEPS * STEP < COUNT) take(WHOLE_STEPS * STEP, false);        \
  }

// Reductions over the workgroup; every invocation gets the result.
vec2 plus(vec2 a, vec2 b) { return a + b; }
#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_shuffle : require
#define REDUCTION(name, combine)                                                                              \
  vec2 name(vec2 x) {                                                                                         \
    [[unroll]] for (uint step = LANES / 2; step > 0; step /= 2) x = combine(x, subgroupShuffleXor(x, step)); \
    return x;                                                                                                 \
  }
#elif defined(SUBGROUPS)
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
shared vec2 slots[LANES / 4];  // of each subgroup; none has fewer lanes
#define REDUCTION(name, combine)                                                                                     \
  vec2 name(vec2 x) {                                                                                                \
    [[unroll]] for (uint step = 1; step < gl_SubgroupSize; step *= 2) x = combine(x, subgroupShuffleXor(x, step)); \
    barrier(); /* the last reduction's values have been read */                                                      \
    if (gl_SubgroupInvocationID == 0) slots[gl_SubgroupID] = x;                                                      \
    barrier();                                                                                                       \
    x = slots[0];                                                                                                    \
    for (uint i = 1; i < gl_NumSubgroups; i++) x = combine(x, slots[i]);                                             \
    return x;                                                                                                        \
  }
#else
shared vec2 slots[LANES];
#define REDUCTION(name, combine)                                                      \
  vec2 name(vec2 x) {                                                                 \
    barrier(); /* the last reduction's result has been read */                        \
    slots[lane()] = x;                                                                \
    barrier();                                                                        \
    for (uint step = LANES / 2; step > 0; step /= 2) {                                \
      if (lane() < step) slots[lane()] = combine(slots[lane()], slots[lane() + step]); \
      barrier();                                                                      \
    }                                                                                 \
    return slots[0];                                                                  \
  }
#endif
REDUCTION(lanes_sum2, plus)
REDUCTION(lanes_max2, max)
float lanes_sum(float x) { return lanes_sum2(vec2(x, 0)).x; }
float lanes_max(float x) { return lanes_max2(vec2(x)).x; }
#endif
