// What every matmul kernel does with a finished sum: y = activation(scale * sum + bias) + residual.
// Expects `args` (MatmulArgs) and the specialization constant ACTIVATION.
#include "shaders/common/activation.glsl"

float bias_of(uint column) { return (args.flags & MATMUL_BIAS) != 0 ? args.bias.v[column] : 0.0; }

// Kernels with many outputs in registers first store the value before the activation to y, unrolled, and then come back
// for the rest in a real loop: unrolled, it would be many times the code of the product, and compile for seconds.
bool needs_finish() { return ACTIVATION != activation_none || (args.flags & MATMUL_RESIDUAL) != 0; }

// With a factor for the activation: y = activation(value) * factor + residual.
void store_gated(uint index, float value, float factor) {
  if ((args.flags & MATMUL_PRE_ACTIVATION) != 0) args.pre_activation.v[index] = value;
  value = activate(ACTIVATION, value) * factor;
  if ((args.flags & MATMUL_RESIDUAL) != 0) value += args.residual.v[index];
  args.y.v[index] = value;
}

void store_finished(uint index, float value) { store_gated(index, value, 1); }
