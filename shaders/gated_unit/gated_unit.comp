#version 460
// variant quads:
// variant words: -DWORDS
// y = act(gate) * up, each element alone. y may overwrite gate.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_unit/gated_unit.glsl"

PUSH(GatedUnitArgs);

void process(uint i, bool whole) {
  vec4 gate = load(args.gate, i, whole);
  vec4 y = load(args.up, i, whole);
  [[unroll]] for (int k = 0; k < 4; k++) y[k] *= gate_value(gate[k]);
  store(args.y, i, whole, y);
}

void main() { STREAM(process) }
