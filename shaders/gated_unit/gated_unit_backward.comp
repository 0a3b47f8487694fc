#version 460
// variant quads:
// variant words: -DWORDS
// dgate = upstream * up * act'(gate) and dup = upstream * act(gate), each element alone. dgate may overwrite upstream.
#extension GL_GOOGLE_include_directive : require
#include "shaders/gated_unit/gated_unit.glsl"

layout(constant_id = 2) const bool WITH_DUP = true;

PUSH(GatedUnitBackwardArgs);

void process(uint i, bool whole) {
  vec4 upstream = load(args.upstream, i, whole);
  vec4 gate = load(args.gate, i, whole);
  vec4 dgate = upstream * load(args.up, i, whole);
  vec4 dup = upstream;
  [[unroll]] for (int k = 0; k < 4; k++) {
    dgate[k] *= gate_derivative(gate[k]);
    if (WITH_DUP) dup[k] *= gate_value(gate[k]);
  }
  store(args.dgate, i, whole, dgate);
  if (WITH_DUP) store(args.dup, i, whole, dup);
}

void main() { STREAM(process) }
