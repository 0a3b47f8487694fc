#version 460
// Copies the rows of B [rows, K] into the workspace at a stride that is no power of two: rows 4 KiB apart share one set
// of a CPU's first-level cache, and a register tile walks down 64 of them at once.
#extension GL_GOOGLE_include_directive : require
#include "shaders/matmul/matmul.args.h"

layout(local_size_x = 64) in;

PUSH(MatmulArgs);

void main() {
  const uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= args.batch * args.n) return;
  for (uint k = gl_LocalInvocationID.x; k < args.k; k += gl_WorkGroupSize.x) {
    args.y.v[row * args.b_stride + k] = args.b.v[row * args.k + k];
  }
}
