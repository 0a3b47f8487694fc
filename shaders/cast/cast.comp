#version 460
// variant f16_quads: -DHALF=1
// variant f16_words: -DHALF=1 -DWORDS
// variant bf16_quads: -DHALF=2
// variant bf16_words: -DHALF=2 -DWORDS
// 16-bit floats from f32, or f32 from them.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/half.glsl"
#include "shaders/common/stream.glsl"
#include "shaders/cast/cast.args.h"

layout(constant_id = 1) const bool TO_HALF = true;
PUSH(CastArgs);

void process(uint i, bool whole) {
  if (TO_HALF) {
    const vec4 x = load(args.wide, i, whole);
    if (whole) {
      args.half_quads.v[i] = uvec2(pack_halves(x.xy), pack_halves(x.zw));
    } else if (i % 2 == 0) {  // the word's other half, too, which the next invocation leaves to this one
      const float next = i + 1 < args.stream.elements ? load(args.wide, i + 1, false).x : 0.0;
      args.half_words.v[i / 2] = pack_halves(vec2(x.x, next));
    }
  } else if (whole) {
    store(args.wide, i, true, half_quad(args.half_quads.v[i]));
  } else {
    store(args.wide, i, false, vec4(half_at(args.half_words, i)));
  }
}

void main() { STREAM(process) }
