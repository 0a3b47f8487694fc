#version 460
// variant quads:
// variant words: -DWORDS
// Sum of squares in two stages. An invocation sums every n-th quad of its workgroup's span, component by component; the
// workgroup adds up its invocations as a tree. The order never varies, and no chain of additions is long.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/global_norm/global_norm.args.h"

layout(constant_id = 1) const bool LAST = false;
PUSH(GlobalNormArgs);

shared float sums[256];
vec4 sum = vec4(0.0);

void process(uint i, bool whole) {
  vec4 x = load(args.x, i, whole);
  if (!LAST) x *= x;
  sum += whole ? x : vec4(x.x, 0.0, 0.0, 0.0);
}

void main() {
  STREAM(process)
  uint lane = gl_LocalInvocationID.x;
  sums[lane] = (sum.x + sum.y) + (sum.z + sum.w);
  barrier();
  for (uint half_size = gl_WorkGroupSize.x / 2; half_size > 0; half_size /= 2) {
    if (lane < half_size) sums[lane] += sums[lane + half_size];
    barrier();
  }
  if (lane == 0 && stream_group() < args.results) args.y.v[stream_group()] = LAST ? sqrt(sums[0]) : sums[0];
}
