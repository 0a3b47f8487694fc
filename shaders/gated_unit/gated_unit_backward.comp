#version 460
// variant quads:
// variant words: -DWORDS
// dgate = upstream * up * act'(gate) and dup = upstream * act(gate), each element alone. dgate may overwrite upstream.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/common/activation.glsl"
#include "shaders/gated_unit/gated_unit.args.h"

layout(constant_id = 1) const uint ACTIVATION = activation_silu;
layout(constant_id = 2) const bool WITH_DUP = true;

PUSH(GatedUnitBackwardArgs);

void process(uint i, bool whole) {
  vec4 upstream = load(args.upstream, i, whole);
  vec4 gate = load(args.gate, i, whole);
  vec4 dgate = upstream * load(args.up, i, whole);
  vec4 dup = upstream;
  [[unroll]] for (int k = 0; k < 4; k++) {
    dgate[k] *= activation_derivative(ACTIVATION, gate[k]);
    if (WITH_DUP) dup[k] *= activate(ACTIVATION, gate[k]);
  }
  store(args.dgate, i, whole, dgate);
  if (WITH_DUP) store(args.dup, i, whole, dup);
}

void main() { STREAM(process) }
