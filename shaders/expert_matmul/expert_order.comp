#version 460
// The pairs by expert, a workgroup an expert: it counts those of experts before it, then lists its own, some at a time,
// in their order. No atomics: the order is the same in every run.
#extension GL_GOOGLE_include_directive : require
#include "shaders/expert_matmul/expert_matmul.args.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;  // a power of two
layout(constant_id = 1) const uint TESTS = 32;  // pairs one invocation tests at a time, at most 32

PUSH(ExpertOrderArgs);

shared uint counts[LANES];

// Of all invocations together.
uint sum_of(uint x) {
  const uint lane = gl_LocalInvocationID.x;
  counts[lane] = x;
  barrier();
  for (uint step = LANES / 2; step > 0; step /= 2) {
    if (lane < step) counts[lane] += counts[lane + step];
    barrier();
  }
  return counts[0];
}

void main() {
  const uint expert = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
  if (expert >= args.experts) return;
  uint less = 0;
  for (uint i = lane; i < args.pairs; i += LANES) less += uint(args.chosen.v[i] < int(expert));
  uint place = sum_of(less);
  if (lane == 0) args.offsets.v[expert] = int(place);
  if (lane == 0 && expert == 0) args.offsets.v[args.experts] = int(args.pairs);

  for (uint base = 0; base < args.pairs; base += LANES * TESTS) {
    // Bit i: pair first + i is this expert's. Lanes take consecutive spans, so the list is in the order of pairs.
    const uint first = base + lane * TESTS;
    uint hits = 0;
    [[unroll]] for (uint i = 0; i < TESTS; i++) {
      const bool hit = args.chosen.v[min(first + i, args.pairs - 1)] == int(expert) && first + i < args.pairs;
      hits |= uint(hit) << i;
    }
    barrier();  // the last counts have been read
    counts[lane] = bitCount(hits);
    barrier();
    uint own = place;
    for (uint l = 0; l < LANES; l++) {
      if (l == lane) own = place;
      place += counts[l];
    }
    for (; hits != 0; hits &= hits - 1) {
      const uint pair = first + findLSB(hits);
      args.order.v[own] = int(pair);
      args.tokens.v[own] = int(pair / args.slots);
      own++;
    }
  }
}
