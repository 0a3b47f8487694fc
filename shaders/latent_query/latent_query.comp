#version 460
// variant f32:
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// Workgroups (part, head). The part behind all others turns what turns, these multiply for COLUMNS columns each:
// neighbours read four of them each, and SLICES of these share the rows of the head's matrix out.
#extension GL_GOOGLE_include_directive : require
#include "shaders/latent_query/latent_query.args.h"
#ifdef HALF
#include "shaders/common/half.glsl"
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 256;
layout(constant_id = 1) const uint COLUMNS = 64;

PUSH(LatentQueryArgs);

const uint QUADS = COLUMNS / 4, SLICES = THREADS / QUADS;
const uint TOGETHER = 4;  // rows under way

shared float parts[SLICES * COLUMNS];

#ifdef HALF
#define Stored uvec2
vec4 values_of(uvec2 quad) { return half_quad(quad); }
#else
#define Stored vec4
vec4 values_of(vec4 quad) { return quad; }
#endif

void turn(uint from, uint to) {
  const int given = args.has_position != 0 ? args.position.v[0] : 0;
  const uint angles = uint(clamp(given, 0, args.table_rows - 1)) * 2 * args.half_width;
  for (uint i = gl_LocalInvocationID.x; i < args.half_width; i += THREADS) {
    const uint first = args.interleaved != 0 ? 2 * i : i, second = args.interleaved != 0 ? 2 * i + 1 : i + args.half_width;
    const float cosine = args.table.v[angles + i], sine = args.table.v[angles + args.half_width + i];
    const float x1 = args.q.v[from + first], x2 = args.q.v[from + second];
    args.y.v[to + first] = x1 * cosine - x2 * sine;
    args.y.v[to + second] = x2 * cosine + x1 * sine;
  }
}

void main() {
  const uint part = gl_WorkGroupID.x, head = gl_WorkGroupID.y, id = gl_LocalInvocationID.x;
  const uint from = head * (args.plain + 2 * args.half_width), to = head * (args.rank + 2 * args.half_width);
  if (part == args.parts) {
    turn(from + args.plain, to + args.rank);
    return;
  }
  const uint slice = id / QUADS, column = part * COLUMNS + 4 * (id % QUADS);
  const uint row_quads = args.rank / 4, own = (head * args.plain) * row_quads + min(column, args.rank - 4) / 4;
  vec4 sum = vec4(0);
  for (uint first = slice; first < args.plain; first += TOGETHER * SLICES) {
    Stored quads[TOGETHER];
    [[unroll]] for (uint l = 0; l < TOGETHER; l++)
      quads[l] = args.keys.v[own + min(first + l * SLICES, args.plain - 1) * row_quads];
    [[unroll]] for (uint l = 0; l < TOGETHER; l++) {
      const uint k = first + l * SLICES;
      if (k < args.plain) sum += args.q.v[from + k] * values_of(quads[l]);
    }
  }
  [[unroll]] for (uint c = 0; c < 4; c++) parts[slice * COLUMNS + 4 * (id % QUADS) + c] = sum[c];
  barrier();
  if (id >= COLUMNS || part * COLUMNS + id >= args.rank) return;
  float all = 0;
  for (uint s = 0; s < SLICES; s++) all += parts[s * COLUMNS + id];
  args.y.v[to + part * COLUMNS + id] = all;
}
