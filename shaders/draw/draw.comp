#version 460
// drawn[r] as draw.h says, a workgroup a row: all weigh, one adds up.
#extension GL_GOOGLE_include_directive : require
#include "shaders/draw/draw.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 64;

PUSH(DrawArgs);

const uint most = 256;
shared float cut[most];    // weights, the largest of which is 1
shared float weigh[most];  // by the temperature of the draw

void main() {
  const uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= args.rows) return;
  const uint start = row * args.columns, settings = row * 5;
  uint kept = uint(clamp(args.counts.v[row], 1, int(args.columns)));
  for (uint i = gl_LocalInvocationID.x; i < kept; i += THREADS) {
    const float below = args.values.v[start + i] - args.values.v[start];
    cut[i] = exp(below / args.settings.v[settings]);
    weigh[i] = exp(below / args.settings.v[settings + 1]);
  }
  barrier();
  if (gl_LocalInvocationID.x > 0) return;
  const float top_p = args.settings.v[settings + 2], min_p = args.settings.v[settings + 3];
  float total = 0;
  for (uint i = 0; i < kept; ++i) total += cut[i];
  if (top_p < 1) {
    float reached = 0;
    uint count = 0;
    while (count < kept && reached < top_p * total) reached += cut[count++];
    kept = max(count, 1);
  }
  uint likely = 1;
  while (likely < kept && cut[likely] >= min_p) ++likely;
  kept = likely;
  total = 0;
  for (uint i = 0; i < kept; ++i) total += weigh[i];
  float rest = args.settings.v[settings + 4] * total - weigh[0];
  uint place = 0;
  while (rest >= 0 && place + 1 < kept) rest -= weigh[++place];
  args.drawn.v[row] = args.indices.v[start + place];
}
