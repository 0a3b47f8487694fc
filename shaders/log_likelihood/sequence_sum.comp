#version 460
// variant workgroup:
// variant subgroup: -DSUBGROUP
// log_likelihood = minus the sum of row_loss over the positions of a sequence, which a workgroup takes.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/log_likelihood/log_likelihood.args.h"

PUSH(SequenceSumArgs);

void take_row(uint sequence) {
  const uint start = sequence * args.positions;
  float sum = 0;
  for (uint first = lane(); first < args.positions; first += 4 * LANES) {
    float part[4];
    [[unroll]] for (uint k = 0; k < 4; ++k) {
      const uint at = first + k * LANES;
      part[k] = at < args.positions ? args.row_loss.v[start + min(at, args.positions - 1)] : 0;
    }
    sum += (part[0] + part[1]) + (part[2] + part[3]);
  }
  sum = lanes_sum(sum);
  if (lane() == 0) args.log_likelihood.v[sequence] = -sum;
}

void main() {
  ROW_LOOP(take_row)
}
