#ifndef VKFORMER_MATMUL_DOT_ARGS_H
#define VKFORMER_MATMUL_DOT_ARGS_H
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

/// One launch of matmul_dot: y[M, N] = activation(scale * a[M, K] b[N, K]^T + bias) + residual, M a constant.
struct MatmulDotArgs {
  Floats a;
  Floats b;  ///< f32 or 16-bit floats, as the variant says
  Floats y;
  Floats pre_activation;
  Floats bias;  ///< [N]
  Floats residual;
  Floats gain;  ///< [K], where a is to be normed
  uint n, k;
  float scale;
  float gain_offset;  ///< added to every gain
  float epsilon;
  uint flags;      ///< MATMUL_* of matmul.args.h
  uint digits[8];  ///< 0 to 7: see uniform_number.glsl
};

VKFORMER_SHARED_END
#endif
