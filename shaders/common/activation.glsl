#ifndef VKFORMER_ACTIVATION_GLSL
#define VKFORMER_ACTIVATION_GLSL
// The activation functions and their derivatives in f32, for element-wise kernels and fused epilogues alike.
// The numbers are those of `enum class Activation` (shaders/elementwise/elementwise.h). Where `kind` is a
// specialization constant the branches fold away.

const uint activation_none = 0;
const uint activation_relu = 1;
const uint activation_gelu = 2;
const uint activation_gelu_tanh = 3;
const uint activation_silu = 4;
const uint activation_tanh = 5;
const uint activation_quick_gelu = 6;
const uint activation_clamped = 7;  // of gates alone, as the next
const uint activation_sigmoid = 8;

// (1 + erf(x / sqrt(2))) / 2 with absolute error below 1e-7 (erf below 2e-7). One minimax polynomial q stands for
// -ln(erfc(t)) / t on 0 <= t <= 5; it keeps growing past 5, so the far tail underflows to zero.
float normal_cdf(float x) {
  float t = abs(x) * 0.70710678118654752;
  float q = 4.6895810e-07;
  q = q * t - 1.0762920e-05;
  q = q * t + 1.0410386e-04;
  q = q * t - 5.3925412e-04;
  q = q * t + 1.4296343e-03;
  q = q * t + 1.4680300e-04;
  q = q * t - 1.9367239e-02;
  q = q * t + 1.0285540e-01;
  q = q * t + 6.3660656e-01;
  q = q * t + 1.1283798;
  float tail = 0.5 * exp(-q * t);
  return x < 0.0 ? tail : 1.0 - tail;
}

// max(x, 0), but NaN stays NaN: a diverged run must be seen.
float relu(float x) { return x < 0.0 ? 0.0 : x; }

float relu_derivative(float x) { return x <= 0.0 ? 0.0 : 1.0; }

// x * Phi(x), the exact GELU.
float gelu(float x) { return x * normal_cdf(x); }

float gelu_derivative(float x) { return normal_cdf(x) + x * 0.39894228040143268 * exp(-0.5 * x * x); }

// GPT-2's approximation x * (1 + tanh(u)) / 2 with u = sqrt(2 / pi) * (x + 0.044715 x^3), as x / (1 + e) with
// e = exp(-2 u). Beyond |x| = 9 the factor of x is 0 or 1 in f32, so x is clamped there and e cannot overflow.
float gelu_tanh_exp(float x) {
  float y = clamp(x, -9.0, 9.0);
  return exp(-1.5957691216057308 * y * (1.0 + 0.044715 * y * y));
}

float gelu_tanh(float x) { return x / (1.0 + gelu_tanh_exp(x)); }

float gelu_tanh_derivative(float x) {
  float y = clamp(x, -9.0, 9.0);
  float e = gelu_tanh_exp(x);
  float gate = 1.0 / (1.0 + e);
  return gate + y * (e * gate) * gate * (1.5957691216057308 * (1.0 + 0.134145 * y * y));
}

// 1 / (1 + exp(-x)) and its derivative, with e = exp(-|x|), which never overflows.
float sigmoid(float x) {
  float e = exp(-abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

float sigmoid_derivative(float x) {
  float e = exp(-abs(x));
  float r = 1.0 / (1.0 + e);
  return e * r * r;
}

float silu(float x) { return x * sigmoid(x); }

float silu_derivative(float x) { return sigmoid(x) + x * sigmoid_derivative(x); }

// (1 - e) / (1 + e) with e = exp(-2 |x|), which loses digits near 0: there the series, whose next term is below 1e-8 of
// the value. GLSL's own tanh may overflow.
float hyperbolic_tangent(float x) {
  float e = exp(-abs(x));
  e *= e;  // not exp(-2 |x|): 2 |x| may be infinite
  float far = (1.0 - e) / (1.0 + e);
  float s = x * x;
  float near = x * (1.0 + s * (-0.33333333 + s * (0.13333333 + s * (-0.053968254 + s * 0.021869489))));
  return abs(x) < 0.25 ? near : x < 0.0 ? -far : far;
}

float hyperbolic_tangent_derivative(float x) {
  float e = exp(-abs(x));
  float r = e / (1.0 + e * e);
  return 4.0 * r * r;
}

// CLIP's x * sigmoid(1.702 x). The factor is 0 or 1 in f32 beyond |x| = 64; clamped, its argument cannot overflow.
float quick_gelu_argument(float x) { return 1.702 * clamp(x, -64.0, 64.0); }

float quick_gelu(float x) { return x * sigmoid(quick_gelu_argument(x)); }

float quick_gelu_derivative(float x) {
  float u = quick_gelu_argument(x);
  return sigmoid(u) + x * (1.702 * sigmoid_derivative(u));
}

// gpt-oss's gate: quick_gelu of values of at most 7. Comparisons, not min(), let NaN through.
const float gate_limit = 7.0;

float clamped_gate(float x) { return quick_gelu(x > gate_limit ? gate_limit : x); }

float clamped_gate_derivative(float x) { return x > gate_limit ? 0.0 : quick_gelu_derivative(x); }

float activate(uint kind, float x) {
  if (kind == activation_relu) return relu(x);
  if (kind == activation_gelu) return gelu(x);
  if (kind == activation_gelu_tanh) return gelu_tanh(x);
  if (kind == activation_silu) return silu(x);
  if (kind == activation_tanh) return hyperbolic_tangent(x);
  if (kind == activation_quick_gelu) return quick_gelu(x);
  if (kind == activation_clamped) return clamped_gate(x);
  if (kind == activation_sigmoid) return sigmoid(x);
  return x;
}

float activation_derivative(uint kind, float x) {
  if (kind == activation_relu) return relu_derivative(x);
  if (kind == activation_gelu) return gelu_derivative(x);
  if (kind == activation_gelu_tanh) return gelu_tanh_derivative(x);
  if (kind == activation_silu) return silu_derivative(x);
  if (kind == activation_tanh) return hyperbolic_tangent_derivative(x);
  if (kind == activation_quick_gelu) return quick_gelu_derivative(x);
  if (kind == activation_clamped) return clamped_gate_derivative(x);
  if (kind == activation_sigmoid) return sigmoid_derivative(x);
  return 1.0;
}

// What a gate lets through of `up`: itself, or gpt-oss's 1 + up within the limit.
float let_through(uint kind, float up) {
  if (kind != activation_clamped) return up;
  return 1.0 + (up > gate_limit ? gate_limit : up < -gate_limit ? -gate_limit : up);
}

float let_through_derivative(uint kind, float up) {
  return kind == activation_clamped && abs(up) > gate_limit ? 0.0 : 1.0;
}

#endif
