#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// A workgroup a row.
#extension GL_GOOGLE_include_directive : require
#include "shaders/cached_row/cached_row.args.h"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 256;  // a power of two

PUSH(CachedRowArgs);

shared float squares[THREADS];

int from, angles;
float factor;

float stored(int c) {
  const float x = args.x.v[from + c];
  if (c < args.normed) return x * factor * (args.gain_offset + args.gain.v[c]);
  const int place = c - args.column;
  if (place < 0 || place >= 2 * args.half_width) return x;
  const bool neighbours = args.interleaved != 0;
  const bool second = neighbours ? place % 2 == 1 : place >= args.half_width;
  const int pair = neighbours ? place / 2 : place % args.half_width, apart = neighbours ? 1 : args.half_width;
  const float cosine = args.table.v[angles + pair], sine = args.table.v[angles + args.half_width + pair];
  const float other = args.x.v[from + (second ? c - apart : c + apart)];
  return second ? x * cosine + other * sine : x * cosine - other * sine;
}

void main() {
  const int batch = int(gl_WorkGroupID.x);
  const uint id = gl_LocalInvocationID.x;
  const int position = args.position.v[min(batch, args.positions - 1)];
  if (position < 0 || position >= args.keys) return;
  const int first = args.first_count != 0 ? args.firsts.v[min(batch, args.first_count - 1)] : 0;
  angles = clamp(first, 0, args.table_rows - 1) * 2 * args.half_width;
  from = batch * args.columns;
  float sum = 0;
  for (int c = int(id); c < args.normed; c += int(THREADS)) sum += args.x.v[from + c] * args.x.v[from + c];
  squares[id] = sum;
  for (uint step = THREADS / 2; step > 0; step /= 2) {
    barrier();
    if (id < step) squares[id] += squares[id + step];
  }
  barrier();
  factor = 1 / sqrt(squares[0] / float(args.normed) + args.epsilon);
  const int to = (batch * args.keys + position) * args.columns;
#ifdef HALF
  for (int w = int(id); w < args.columns / 2; w += int(THREADS))
    args.cache.v[to / 2 + w] = pack_halves(within_half(vec2(stored(2 * w), stored(2 * w + 1))));
#else
  for (int c = int(id); c < args.columns; c += int(THREADS)) args.cache.v[to + c] = stored(c);
#endif
}
