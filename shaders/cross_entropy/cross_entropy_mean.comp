#version 460
// variant workgroup:
// variant subgroup: -DSUBGROUP
// loss = sum of row_loss / count of all targets that are not ignored. A single workgroup.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/cross_entropy/cross_entropy.args.h"

PUSH(CrossEntropyMeanArgs);

void main() {
  vec2 sums = vec2(0);  // loss, count
  for (uint first = lane(); first < args.all; first += 4 * LANES) {
    vec2 part[4];
    [[unroll]] for (uint k = 0; k < 4; ++k) {
      const uint at = min(first + k * LANES, args.all - 1), row = at - args.first;  // wraps: then it is no row
      const bool counted = counts(args.targets.v[at], args.classes, args.ignore_index);
      const float loss = row < args.rows ? args.row_loss.v[min(row, args.rows - 1)] : 0;
      part[k] = first + k * LANES < args.all && counted ? vec2(loss, 1) : vec2(0);
    }
    sums += (part[0] + part[1]) + (part[2] + part[3]);
  }
  sums = lanes_sum2(sums);
  if (lane() != 0) return;
  if ((args.outputs & 1) != 0) args.loss.v[0] = sums.y > 0 ? sums.x / sums.y : 0;
  if ((args.outputs & 2) != 0) args.count.v[0] = sums.y;
}
