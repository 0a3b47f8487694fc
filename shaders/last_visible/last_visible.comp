#version 460
// last[b] as last_visible.h says. Texts end near their rows' ends, from where the search goes.
#extension GL_GOOGLE_include_directive : require
#include "shaders/last_visible/last_visible.args.h"

layout(local_size_x_id = 0) in;

PUSH(LastVisibleArgs);

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint row = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (row >= args.rows) return;
  uint last = (row + 1) * args.positions - 1;
  while (last > row * args.positions && args.mask.v[last] == 0) --last;
  args.last.v[row] = int(last);
}
