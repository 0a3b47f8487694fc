#version 460
// dg of a head (y) of a row (z) at each position: the sum of `ends` from there on, to the next position of which the
// state was kept: so that it is a sum of few, of which the larger ones cancel. It is 0 where nothing decays, at a text's
// first position, and where nothing is left, which bounds the sum as well. An invocation takes the positions between.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_delta_rule/delta_columns.glsl"

layout(local_size_x_id = 0) in;

PUSH(DeltaDecayBackwardArgs);

const float nothing_left = -16.6;  // exp of it is 2^-24

// Which texts positions are of; a row of its own without any.
int text_of(uint row) { return rules(args.sizes, delta_has_texts) ? args.texts.v[row] : 1; }

void main() {
  const DeltaSizes sizes = args.sizes;
  const uint T = sizes.positions, head = gl_WorkGroupID.y, batch = gl_WorkGroupID.z, row = batch * T;
  for (uint span = gl_LocalInvocationID.x; span <= args.kept; span += gl_WorkGroupSize.x) {
    const uint first = span * delta_span, end = min(first + delta_span, T);
    float sum = 0;
    if (span < args.kept) {
      const uint at = ((batch * args.kept + span) * sizes.heads + head) * sizes.value_width;
      for (uint j = 0; j < sizes.value_width; ++j) sum += args.products.v[at + j];
    }
    for (uint t = end; t-- > first;) {
      const uint gate = (2 * (row + t) + 1) * sizes.heads + head;
      const float own = args.ends.v[(row + t) * sizes.heads + head], decay = args.gates.v[gate];
      const int text = text_of(row + t), before = text_of(t > 0 ? row + t - 1 : row);
      const bool live = text != 0;
      if (live) sum += own;
      if (t == 0 || (live && (text != before || decay < nothing_left))) sum = 0;
      args.dgates.v[gate] = live ? sum : 0;
    }
  }
}
