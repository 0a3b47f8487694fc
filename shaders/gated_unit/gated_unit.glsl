#ifndef VKFORMER_GATED_UNIT_GLSL
#define VKFORMER_GATED_UNIT_GLSL
// The activations of gates and their derivatives.
#include "shaders/common/stream.glsl"
#include "shaders/common/activation.glsl"
#include "shaders/gated_unit/gated_unit.args.h"

layout(constant_id = 1) const uint ACTIVATION = gated_silu;

// With e = exp(-|x|), which never overflows: sigmoid(x) is 1 / (1 + e) for x >= 0 and e / (1 + e) below.
float silu(float x) {
  float e = exp(-abs(x));
  return x * ((x < 0.0 ? e : 1.0) / (1.0 + e));
}

// sigmoid(x) + x * sigmoid'(x), where sigmoid'(x) = e / (1 + e)^2 on both sides of 0.
float silu_derivative(float x) {
  float e = exp(-abs(x));
  float r = 1.0 / (1.0 + e);
  return (x < 0.0 ? e : 1.0) * r + x * (e * r * r);
}

float gate_value(float x) { return ACTIVATION == gated_silu ? silu(x) : activate(ACTIVATION, x); }

float gate_derivative(float x) {
  return ACTIVATION == gated_silu ? silu_derivative(x) : activation_derivative(ACTIVATION, x);
}

#endif
