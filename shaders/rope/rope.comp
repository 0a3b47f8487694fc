#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant workgroup_f16: -DHALF=1
// variant workgroup_bf16: -DHALF=2
// Turns the pairs of columns of every head by the angles of the row's position, and copies what does not turn unless y is
// x itself: each invocation writes only what it has read. 16-bit rows are always PAIRED.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/rope/rope.args.h"

layout(constant_id = 4) const uint HEAD_WIDTH = 2;
layout(constant_id = 5) const uint HALF_WIDTH = 1;
layout(constant_id = 6) const bool INTERLEAVED = false;

PUSH(RopeArgs);

// Rotation pairs that an invocation turns together; here PAIRED says that HALF_WIDTH and the first columns are even, too.
const uint WIDTH = PAIRED ? 2 : 1;
const uint STEPS = HALF_WIDTH / WIDTH;  // in a head

vec2 load_angles(uint at) { return PAIRED ? load_pair(args.table, at) : vec2(float_at(args.table, at), 0); }

#ifdef HALF
vec2 load_some(uint at) { return load_real_pair(args.x, at); }
void store_some(uint at, vec2 value) { store_real_pair(args.y, at, saturated(value, args.most)); }
#else
vec2 load_some(uint at) { return PAIRED ? load_pair(args.x, at) : vec2(args.x.v[at], 0); }
void store_some(uint at, vec2 value) {
  if (PAIRED) store_pair(args.y, at, value);
  else args.y.v[at] = value.x;
}
#endif

void turn(uint start, uint angles, uint n) {
  const uint pair = n % STEPS * WIDTH;
  const uint first = start + args.column + n / STEPS * HEAD_WIDTH + (INTERLEAVED ? 2 * pair : pair);
  const uint second = first + (INTERLEAVED ? WIDTH : HALF_WIDTH);
  const vec2 cosine = load_angles(angles + pair);
  const vec2 sine = load_angles(angles + HALF_WIDTH + pair) * args.direction;
  const vec2 a = load_some(first), b = load_some(second);
  // Two interleaved pairs lie in memory as x1 x2, x1 x2.
  const bool mixed = INTERLEAVED && PAIRED;
  const vec2 x1 = mixed ? vec2(a.x, b.x) : a, x2 = mixed ? vec2(a.y, b.y) : b;
  const vec2 y1 = x1 * cosine - x2 * sine, y2 = x2 * cosine + x1 * sine;
  store_some(first, mixed ? vec2(y1.x, y2.x) : y1);
  store_some(second, mixed ? vec2(y1.y, y2.y) : y2);
}

bool turns(uint column) {
  const uint from_head = column - args.column;  // wraps around to a large number before the first head
  return from_head < args.heads * HEAD_WIDTH && from_head % HEAD_WIDTH < 2 * HALF_WIDTH;
}

void take_row(uint row) {
  const uint start = row * COLUMNS;
  // Always reads: CPU drivers may run the branch that is not taken.
  const int given = args.position.v[min(row / uint(args.positions), max(args.offsets, 1) - 1)];
  // Clamped here as well, so that adding the row cannot overflow.
  const int offset = args.offsets != 0 ? clamp(given, -args.positions, args.table_rows) : 0;
  const int position = clamp(offset + int(row % uint(args.positions)), 0, args.table_rows - 1);
  const uint turned = args.heads * STEPS;
  uint n = lane();
  if (n < turned) {
    do turn(start, uint(position) * 2 * HALF_WIDTH, n);
    while ((n += LANES) < turned);
  }
  if (args.copy == 0) return;
#ifdef HALF
  for (uint column = 2 * lane(); column < COLUMNS; column += 2 * LANES)
    if (!turns(column)) args.y.v[(start + column) / 2] = args.x.v[(start + column) / 2];
#else
  for (uint column = lane(); column < COLUMNS; column += LANES)
    if (!turns(column)) args.y.v[start + column] = args.x.v[start + column];
#endif
}

void main() { ROW_LOOP(take_row) }
