#version 460
// The `count` largest logits of each row and their shares of the softmax over all (of their own, if NORMALISED), a
// workgroup a row. Every logit counts how many come before it, so none waits for another's place.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/float_order.glsl"
#include "shaders/router/router.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 64;
layout(constant_id = 1) const uint ROOM = 64;  // for a row
layout(constant_id = 2) const bool NORMALISED = true;

PUSH(RouterArgs);

shared uint keys[ROOM];
shared float exponentials[ROOM];  // relative to the largest logit's
shared uint chosen[ROOM];         // by place

void main() {
  const uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, id = gl_LocalInvocationID.x;
  if (row >= args.rows) return;
  const uint start = row * args.experts;
  for (uint e = id; e < args.experts; e += THREADS) keys[e] = key_of(args.logits.v[start + e]);
  barrier();
  for (uint e = id; e < args.experts; e += THREADS) {
    uint place = 0;
    for (uint other = 0; other < args.experts; other++) {
      place += uint(before(uvec2(keys[other], other), uvec2(keys[e], e)));
    }
    chosen[place] = e;
  }
  barrier();
  const float peak = args.logits.v[start + chosen[0]];
  for (uint e = id; e < args.experts; e += THREADS) exponentials[e] = exp(args.logits.v[start + e] - peak);
  barrier();
  const uint count = NORMALISED ? args.count : args.experts;
  for (uint place = id; place < args.count; place += THREADS) {
    float sum = 0;
    for (uint i = 0; i < count; i++) sum += exponentials[chosen[i]];
    const uint at = row * args.count + place;
    if ((args.outputs & 1) != 0) args.weights.v[at] = exponentials[chosen[place]] / sum;
    if ((args.outputs & 2) != 0) args.chosen.v[at] = int(chosen[place]);
  }
}
