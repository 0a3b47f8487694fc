#version 460
// variant f16_quads: -DHALF=1
// variant f16_words: -DHALF=1 -DWORDS
// variant bf16_quads: -DHALF=2
// variant bf16_words: -DHALF=2 -DWORDS
// 16-bit floats from f32, or f32 from them.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/cast/cast.args.h"

layout(constant_id = 1) const bool TO_HALF = true;
PUSH(CastArgs);

void process(uint i, bool whole) {
  const bool second = !whole && i + 1 < args.stream.elements;  // of a word: is it there?
  if (TO_HALF) {
    vec4 x = load(args.wide, i, whole);
    if (!whole) x.y = second ? load(args.wide, i + 1, false).x : 0.0;
    store_reals(args.narrow, i, whole, vec4(saturated(x.xy, args.most), saturated(x.zw, args.most)));
  } else {
    const vec4 x = load_reals(args.narrow, i, whole);
    store(args.wide, i, whole, x);
    if (second) store(args.wide, i + 1, false, x.yyyy);
  }
}

void main() { STREAM(process) }
