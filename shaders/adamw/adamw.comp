#version 460
// variant quads:
// variant words: -DWORDS
// One AdamW step over a block of parameters; the formulas are in adamw.h.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/adamw/adamw.args.h"

PUSH(AdamWArgs);

float keep;  // 1 - learning rate * weight decay
float step_size;
float root_correction;  // sqrt(1 - beta2^t)
float gradient_factor;

// By its bits: compilers may take comparisons for ones of numbers.
bool is_not_finite(float x) { return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u; }

void process(uint i, bool whole) {
  vec4 p = load(args.parameters, i, whole);
  vec4 g = load(args.gradient, i, whole) * gradient_factor;
  vec4 m = load(args.moment1, i, whole);
  vec4 v = load(args.moment2, i, whole);
  uvec4 element = whole ? 4 * i + uvec4(0, 1, 2, 3) : uvec4(i);
  bvec4 decayed = lessThan(element, uvec4(args.decayed));
  if (args.decay_gradient != 0)
    g += mix(vec4(0.0), args.weight_decay * p, decayed);
  else
    p *= mix(vec4(1.0), vec4(keep), decayed);
  m += (g - m) * args.beta1_rest;
  v = v * args.beta2 + g * g * args.beta2_rest;
  p -= step_size * m / (sqrt(v) / root_correction + args.epsilon);
  store(args.parameters, i, whole, p);
  store(args.moment1, i, whole, m);
  store(args.moment2, i, whole, v);
}

void main() {
  float learning_rate = args.schedule.v[0];
  keep = 1.0 - learning_rate * args.weight_decay;
  step_size = learning_rate / args.schedule.v[1];
  root_correction = args.schedule.v[2];
  const bool scaled = args.scaled != 0;
  // The schedule has no fourth number otherwise, and CPU drivers may run the branch that is not taken.
  const float unscale = scaled ? args.schedule.v[scaled ? 3 : 0] : 1.0;
  // An overflow in 16-bit floats: the host will try again with a smaller scale.
  if (scaled && is_not_finite(args.norm.v[0])) return;
  gradient_factor = unscale;
  if (args.clip_norm > 0.0) {
    float factor = args.clip_norm / (args.norm.v[0] * unscale + 1e-6);
    gradient_factor = factor > 1.0 ? unscale : factor * unscale;  // NaN stays NaN
  }
  STREAM(process)
}
