#version 460
// variant quads:
// variant words: -DWORDS
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// y = function(x) or function(x, second), each element alone.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/common/activation.glsl"
#include "shaders/elementwise/elementwise.args.h"

layout(constant_id = 1) const uint FUNCTION = elementwise_add;
PUSH(ElementwiseArgs);

const bool binary = FUNCTION >= elementwise_backward && FUNCTION != elementwise_scale &&
                    FUNCTION != elementwise_softcap && FUNCTION != elementwise_scale_by;

float value(float x, float second) {
  if (FUNCTION == elementwise_add) return x + second;
  if (FUNCTION == elementwise_scale) return x * args.factor;
  if (FUNCTION == elementwise_softcap) return args.factor * hyperbolic_tangent(x / args.factor);
  if (FUNCTION == elementwise_softcap_backward) return x * hyperbolic_tangent_derivative(second / args.factor);
  if (FUNCTION == elementwise_multiply) return x * second;
  if (FUNCTION == elementwise_scale_by) return x * args.number.v[0];
  if (binary) return x * activation_derivative(FUNCTION - elementwise_backward, second);
  return activate(FUNCTION, x);
}

void process(uint i, bool whole) {
  vec4 x = load_reals(args.x, i, whole);
  vec4 second = vec4(0.0);
  if (binary) second = load_reals(args.second, i, whole);
  vec4 y;
  [[unroll]] for (int k = 0; k < 4; k++) y[k] = value(x[k], second[k]);
  store_reals(args.y, i, whole, y);
}

void main() { STREAM(process) }
