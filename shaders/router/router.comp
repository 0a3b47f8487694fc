#version 460
// The `count` largest scores of each row and their weights, a workgroup a row: shares of the softmax over all logits or,
// if SIGMOID, sigmoids; if NORMALISED, of their own sum. Every score counts how many come before it, so none waits for
// another's place.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/float_order.glsl"
#include "shaders/router/router.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 64;
layout(constant_id = 1) const uint ROOM = 64;  // for a row
layout(constant_id = 2) const bool NORMALISED = true;
layout(constant_id = 3) const bool SIGMOID = false;
layout(constant_id = 4) const bool BIAS = false;

PUSH(RouterArgs);

shared uint keys[ROOM];
shared float weights[ROOM];  // not yet divided; of a softmax relative to the largest logit's
shared uint chosen[ROOM];    // by place

void main() {
  const uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, id = gl_LocalInvocationID.x;
  if (row >= args.rows) return;
  const uint start = row * args.experts;
  float peak, all = 0;
  if (BIAS && !SIGMOID) {
    peak = args.logits.v[start];
    for (uint e = 1; e < args.experts; e++) peak = max(peak, args.logits.v[start + e]);
    for (uint e = 0; e < args.experts; e++) all += exp(args.logits.v[start + e] - peak);
  }
  for (uint e = id; e < args.experts; e += THREADS) {
    float score = args.logits.v[start + e];
    if (BIAS && !SIGMOID) score = exp(score - peak) / all;
    if (SIGMOID) score = weights[e] = 1 / (1 + exp(-score));
    if (BIAS) score += args.bias.v[e];
    keys[e] = key_of(score);
  }
  barrier();
  for (uint e = id; e < args.experts; e += THREADS) {
    uint place = 0;
    for (uint other = 0; other < args.experts; other++) {
      place += uint(before(uvec2(keys[other], other), uvec2(keys[e], e)));
    }
    chosen[place] = e;
  }
  barrier();
  if (!SIGMOID) {
    if (!BIAS) peak = args.logits.v[start + chosen[0]];
    for (uint e = id; e < args.experts; e += THREADS) weights[e] = exp(args.logits.v[start + e] - peak);
    barrier();
  }
  // Sigmoids that are not normalised need no sum.
  const uint count = NORMALISED ? args.count : SIGMOID ? 0 : args.experts;
  for (uint place = id; place < args.count; place += THREADS) {
    float sum = SIGMOID && !NORMALISED ? 1 : args.epsilon;
    for (uint i = 0; i < count; i++) sum += weights[chosen[i]];
    const uint at = row * args.count + place;
    if ((args.outputs & 1) != 0) args.weights.v[at] = weights[chosen[place]] / sum;
    if ((args.outputs & 2) != 0) args.chosen.v[at] = int(chosen[place]);
  }
}
