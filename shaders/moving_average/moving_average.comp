#version 460
// variant quads:
// variant words: -DWORDS
// average = average + rate (x - average)
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/moving_average/moving_average.args.h"

PUSH(MovingAverageArgs);

float rate;

void process(uint i, bool whole) {
  vec4 x = load(args.x, i, whole);
  // A choice, not a product with 0: the old average may be NaN.
  if (rate < 1) x = mix(load(args.average, i, whole), x, rate);
  store(args.average, i, whole, x);
}

void main() {
  rate = args.rate.v[0];
  STREAM(process)
}
