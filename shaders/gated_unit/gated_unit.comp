#version 460
// variant workgroup:
// variant workgroup_int64: -DINT64
// variant workgroup_f16: -DHALF=1
// variant workgroup_bf16: -DHALF=2
// variant workgroup_f16_of_floats: -DHALF=1 -DOF_FLOATS
// variant workgroup_bf16_of_floats: -DHALF=2 -DOF_FLOATS
// y = act(gate) * up, or what the gate lets through of up, each element alone. y may overwrite gate where their rows are equally long.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/rows.glsl"
#include "shaders/common/activation.glsl"
#include "shaders/gated_unit/gated_unit.args.h"

layout(constant_id = 4) const uint ACTIVATION = activation_silu;

PUSH(GatedUnitArgs);

#ifdef OF_FLOATS
#define load_gate load2
#else
#define load_gate load_reals2
#endif

uint from, to;  // where the row starts

void take(uint first, bool inside) {
  [[unroll]] for (uint k = 0; k < STEP; ++k) {
    const vec2 gate = load_gate(args.gate, from, first + k, inside, 0);
    const vec2 up = load_gate(args.up, from, first + k, inside, 0);
    const vec2 y = vec2(let_through(ACTIVATION, up.x), let_through(ACTIVATION, up.y)) *
                   vec2(activate(ACTIVATION, gate.x), activate(ACTIVATION, gate.y));
    store_reals2(args.y, to, first + k, inside, saturated(y, args.most));
  }
}

void take_row(uint row) {
  from = row * args.stride;
  to = row * COLUMNS;
  WALK(take)
}

void main() { ROW_LOOP(take_row) }
