#version 460
// variant quads:
// variant words: -DWORDS
// y = act(gate) * up, each element alone. y may overwrite gate.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/common/activation.glsl"
#include "shaders/gated_unit/gated_unit.args.h"

layout(constant_id = 1) const uint ACTIVATION = activation_silu;

PUSH(GatedUnitArgs);

void process(uint i, bool whole) {
  vec4 gate = load(args.gate, i, whole);
  vec4 y = load(args.up, i, whole);
  [[unroll]] for (int k = 0; k < 4; k++) y[k] *= activate(ACTIVATION, gate[k]);
  store(args.y, i, whole, y);
}

void main() { STREAM(process) }
