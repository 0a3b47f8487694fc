#ifndef VKFORMER_SOFTPLUS_GLSL
#define VKFORMER_SOFTPLUS_GLSL
// log(1 + exp(x)). Where exp(x) is small that is its series, which a sum with 1 would cut off.
float softplus(float x) {
  const float small = exp(-abs(x));
  return max(x, 0) + (small < 0.02 ? small * (1 - small * (0.5 - small * (1. / 3 - small * 0.25))) : log(1 + small));
}
#endif
