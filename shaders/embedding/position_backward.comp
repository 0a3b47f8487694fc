#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// dtable[p] = sum over the batch of upstream[b, p - position], zero where that token does not exist.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/embedding/embedding.args.h"

PUSH(PositionBackwardArgs);

void main() {
  const int offset = args.has_offset != 0 ? args.position.v[0] : 0;
  const uint end = min(first_row() + ROWS, args.position_rows);
  for (uint row = first_row(); row < end; ++row) {
    const uint t = row - uint(offset);  // wraps around to a large number below the offset
    const uint batch = t < args.positions ? args.batch : 0;
    for (uint n = 0; n < COUNT; ++n) {
      vec2 sum = vec2(0);
      for (uint b = 0; b < batch; ++b) sum += load2(args.upstream, (b * args.positions + t) * COLUMNS, n, 0);
      store2(args.dtable, row * COLUMNS, n, sum);
    }
  }
}
