#pragma once
// Activations and their derivatives in double, for references. (The reference of a kernel shares no code with the
// kernel.)

#include <cmath>
#include <numbers>

namespace vkformer {

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double sigmoid_derivative(double x) { return sigmoid(x) * sigmoid(-x); }

inline double silu(double x) { return x * sigmoid(x); }
inline double silu_derivative(double x) { return sigmoid(x) + x * sigmoid_derivative(x); }

/// x Phi(x), Phi the normal distribution (Hendrycks & Gimpel 2016).
inline double gelu(double x) { return x * std::erfc(-x / std::numbers::sqrt2) / 2; }
inline double gelu_derivative(double x) {
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  return std::erfc(-x / std::numbers::sqrt2) / 2 + x * density;
}

/// Its approximation by tanh, of the same paper.
inline double gelu_tanh(double x) {
  return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) / 2;
}
inline double gelu_tanh_derivative(double x) {
  const double slope = std::sqrt(2 / std::numbers::pi), t = std::tanh(slope * (x + 0.044715 * x * x * x));
  return (1 + t) / 2 + x * (1 - t * t) / 2 * slope * (1 + 3 * 0.044715 * x * x);
}

}  // namespace vkformer
