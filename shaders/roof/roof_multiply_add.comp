#version 460
// One row of 16 elements an invocation: 16 chains that do not depend on each other hide the latency of one.
#extension GL_GOOGLE_include_directive : require
#include "shaders/roof/roof.args.h"

layout(local_size_x_id = 0) in;
PUSH(RoofMultiplyAddArgs);

// Written out: not every driver unrolls, and the loop's own cost must not count.
#define STEP                            \
  a = a * args.factor + args.term;      \
  b = b * args.factor + args.term;      \
  c = c * args.factor + args.term;      \
  d = d * args.factor + args.term;

void main() {
  uint row = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint i = min(row, args.rows - 1) * 4;
  vec4 a = args.x.v[i], b = args.x.v[i + 1], c = args.x.v[i + 2], d = args.x.v[i + 3];
  for (uint round = 0; round < args.rounds; ++round) {
    STEP STEP STEP STEP
    STEP STEP STEP STEP
  }
  if (row >= args.rows) return;
  args.y.v[i] = a;
  args.y.v[i + 1] = b;
  args.y.v[i + 2] = c;
  args.y.v[i + 3] = d;
}
