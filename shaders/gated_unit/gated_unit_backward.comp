#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant workgroup_f16: -DHALF=1
// variant workgroup_bf16: -DHALF=2
// dgate = upstream * up * act'(gate) and dup = upstream * act(gate), each element alone. dgate may overwrite upstream
// where their rows are equally long.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/common/activation.glsl"
#include "shaders/gated_unit/gated_unit.args.h"

layout(constant_id = 4) const uint ACTIVATION = activation_silu;
layout(constant_id = 5) const bool WITH_DUP = true;

PUSH(GatedUnitBackwardArgs);

uint from, to;  // where the row starts, in upstream and in the others

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const vec2 upstream = load_reals2(args.upstream, from, first + k, inside, 0);
    const vec2 gate = load_reals2(args.gate, to, first + k, inside, 0);
    const vec2 up = load_reals2(args.up, to, first + k, inside, 0);
    const vec2 slope = vec2(activation_derivative(ACTIVATION, gate.x), activation_derivative(ACTIVATION, gate.y));
    const vec2 factor = vec2(let_through(ACTIVATION, up.x), let_through(ACTIVATION, up.y));
    store_reals2(args.dgate, to, first + k, inside, upstream * factor * slope);
    if (WITH_DUP) {
      const vec2 value = vec2(activate(ACTIVATION, gate.x), activate(ACTIVATION, gate.y));
      const vec2 factor_slope = vec2(let_through_derivative(ACTIVATION, up.x), let_through_derivative(ACTIVATION, up.y));
      store_reals2(args.dup, to, first + k, inside, upstream * value * factor_slope);
    }
  }
}

void take_row(uint row) {
  from = row * COLUMNS;
  to = row * args.stride;
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
