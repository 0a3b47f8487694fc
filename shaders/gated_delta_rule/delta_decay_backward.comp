#version 460
// dg of a head (y) of a row (z) at each position: the sum of `ends` from there to the end of its text; 0 where nothing
// decays, at a text's first position. An invocation takes a range of positions, and the one in front goes on from it.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_delta_rule/delta_columns.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint INVOCATIONS = 64;

PUSH(DeltaDecayBackwardArgs);

shared float sums[INVOCATIONS];
shared bool closed[INVOCATIONS];  // a text begins in the range: what is behind does not get through

// Which texts positions are of; a row of its own without any.
int text_of(uint row) { return rules(args.sizes, delta_has_texts) ? args.texts.v[row] : 1; }

void main() {
  const DeltaSizes sizes = args.sizes;
  const uint T = sizes.positions, head = gl_WorkGroupID.y, row = gl_WorkGroupID.z * T, lane = gl_LocalInvocationID.x;
  const uint span = (T + INVOCATIONS - 1) / INVOCATIONS, first = min(lane * span, T), end = min(first + span, T);
  float sum = 0;
  bool begins = false;
  for (uint t = end; t-- > first;) {
    const bool live = text_of(row + t) != 0;
    if (live) sum += args.ends.v[(row + t) * sizes.heads + head];
    if (live && t > 0 && text_of(row + t) != text_of(row + t - 1)) {
      sum = 0;
      begins = true;
    }
  }
  sums[lane] = sum;
  closed[lane] = begins;
  barrier();
  sum = 0;
  for (uint i = INVOCATIONS; --i > lane;) sum = closed[i] ? sums[i] : sum + sums[i];
  for (uint t = end; t-- > first;) {
    const bool live = text_of(row + t) != 0;
    const bool is_first = t == 0 || (live && text_of(row + t) != text_of(row + t - 1));
    if (live) sum += args.ends.v[(row + t) * sizes.heads + head];
    args.dgates.v[(2 * (row + t) + 1) * sizes.heads + head] = live && !is_first ? sum : 0;
    if (is_first) sum = 0;
  }
}
