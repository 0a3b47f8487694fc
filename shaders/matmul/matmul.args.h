#ifndef VKFORMER_MATMUL_ARGS_H
#define VKFORMER_MATMUL_ARGS_H
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

const uint MATMUL_BIAS = 1;
const uint MATMUL_PRE_ACTIVATION = 2;
const uint MATMUL_RESIDUAL = 4;

/// One launch of any matmul kernel: `batch` products y[M, N] = op(a)[M, K] op(b)[K, N], each stored densely after the
/// last. With splits > 1 the sum over K is cut into ranges of k_per_split and `y` receives the raw partial sums
/// [splits, batch, M, N], which matmul_reduce adds up.
struct MatmulArgs {
  Floats a;                      ///< [batch, M, K], or [batch, K, M] when transposed
  Floats b;                      ///< [batch, K, N], or [batch, N, K] when transposed
  FloatPairs a_pairs, b_pairs;   ///< the same addresses, read only by kernels told that every row is aligned
  FloatQuads a_quads, b_quads;
  Floats y;                      ///< [batch, M, N]
  Floats pre_activation;         ///< [batch, M, N]
  Floats bias;                   ///< [N]
  Floats residual;               ///< [batch, M, N]
  uint m, n, k;
  uint batch;
  uint splits;
  uint k_per_split;  ///< a multiple of 4
  uint b_stride;     ///< floats from one row of a transposed B to the next; K but for the workspace of matmul_pad
  float scale;
  uint flags;  ///< MATMUL_*: which of the last three pointers are there
};

VKFORMER_SHARED_END
#endif
