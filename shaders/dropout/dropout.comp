#version 460
// variant quads:
// variant words: -DWORDS
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// y = x * scale where a uniform number is at least p, otherwise 0, plus the residual. One Philox call serves four elements.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/common/philox.glsl"
#include "shaders/dropout/dropout.args.h"

layout(constant_id = 1) const bool ADD = false;

PUSH(DropoutArgs);

uint seed, step_number;

void process(uint i, bool whole) {
  uvec4 words = philox4x32_10(uvec4(whole ? i : i / 4, 0, step_number, 0), uvec2(seed, args.key)) >> 8;
  vec4 x = load_reals(args.x, i, whole);
  if (!whole) words.xy = uvec2(words[i % 4], words[(i + 1) % 4]);
  vec4 y = mix(vec4(0.0), x * args.scale, greaterThanEqual(words, uvec4(args.threshold)));
  if (ADD) y += load_reals(args.residual, i, whole);
  store_reals(args.y, i, whole, y);
}

void main() {
  seed = uint(args.seed.v[0]);
  step_number = uint(args.seed.v[1]);
  STREAM(process)
}
