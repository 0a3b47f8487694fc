#version 460
// dlogits[e] = p[e] (upstream of e - sum of weights upstream), an invocation an element. p is what the softmax gave e:
// if NORMALISED its weight, where e is chosen, else nothing; otherwise its probability, by way of the first one chosen.
// If SIGMOID, the same of a weight by its sigmoid s, times s's own slope by the logit: of what is chosen alone, and
// without that sum unless weights are NORMALISED.
#extension GL_GOOGLE_include_directive : require
#include "shaders/router/router.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool NORMALISED = true;
layout(constant_id = 2) const bool SIGMOID = false;

PUSH(RouterBackwardArgs);

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint at = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (at >= args.elements) return;
  const uint row = at / args.experts, expert = at % args.experts, first = row * args.count;
  float mean = 0, own = 0, weight = 0;
  for (uint i = first; i < first + args.count; i++) {
    const float upstream = args.upstream.v[i];
    mean += args.weights.v[i] * upstream;
    if (args.chosen.v[i] == int(expert)) {
      own = upstream;
      weight = args.weights.v[i];
    }
  }
  if (SIGMOID) {
    weight /= 1 + exp(args.logits.v[at]);  // times 1 - s
    if (!NORMALISED) mean = 0;
  } else if (!NORMALISED) {
    const float peak = args.logits.v[row * args.experts + uint(args.chosen.v[first])];
    weight = args.weights.v[first] * exp(args.logits.v[at] - peak);
  }
  args.dlogits.v[at] = weight * (own - mean);
}
