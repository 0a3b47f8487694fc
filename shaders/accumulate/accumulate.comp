#version 460
// variant quads:
// variant words: -DWORDS
// sum = first ? x : sum + x
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/accumulate/accumulate.args.h"

PUSH(AccumulateArgs);

bool first_time;

void process(uint i, bool whole) {
  vec4 x = load(args.x, i, whole);
  // A choice, not a product with 0: the old sum may be NaN.
  if (!first_time) x += load(args.sum, i, whole);
  store(args.sum, i, whole, x);
}

void main() {
  first_time = args.first.v[0] != 0;
  STREAM(process)
}
