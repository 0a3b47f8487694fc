#ifndef VKFORMER_MATMUL_ARGS_H
#define VKFORMER_MATMUL_ARGS_H
#include "shaders/common/shared.h"

#ifndef __cplusplus
// In GLSL a kernel's variant says which operands are 16-bit floats (see operands.glsl), whether b is encoded blocks, of
// which `b` are the words and `b_quads` the vectors, and whether results are 16-bit floats.
#ifdef A_HALF
#define A_ELEMENTS Halves
#define A_PAIRS Halves
#define A_QUADS HalfQuads
#else
#define A_ELEMENTS Floats
#define A_PAIRS FloatPairs
#define A_QUADS FloatQuads
#endif
#ifdef BLOCKS
#define B_ELEMENTS Halves
#define B_PAIRS Halves
#define B_QUADS HalfPacks
#elif defined(B_HALF)
#define B_ELEMENTS Halves
#define B_PAIRS Halves
#define B_QUADS HalfQuads
#else
#define B_ELEMENTS Floats
#define B_PAIRS FloatPairs
#define B_QUADS FloatQuads
#endif
#ifdef Y_HALF
#define Y_ELEMENTS Halves
#define Y_QUADS HalfQuads
#else
#define Y_ELEMENTS Floats
#define Y_QUADS FloatQuads
#endif
#endif

VKFORMER_SHARED_BEGIN

#ifdef __cplusplus
using A_ELEMENTS = uint64_t;
using A_PAIRS = uint64_t;
using A_QUADS = uint64_t;
using B_ELEMENTS = uint64_t;
using B_PAIRS = uint64_t;
using B_QUADS = uint64_t;
using Y_ELEMENTS = uint64_t;
using Y_QUADS = uint64_t;
#endif

const uint MATMUL_BIAS = 1;
const uint MATMUL_PRE_ACTIVATION = 2;
const uint MATMUL_RESIDUAL = 4;
const uint MATMUL_SHIFT = 8;  ///< matmul_vector's
const uint MATMUL_SATURATED = 16;  ///< finite results that an f16 can't hold become the largest

/// One launch of any matmul kernel: `batch` products y[M, N] = op(a)[M, K] op(b)[K, N], each stored densely after the
/// last. With splits > 1 the sum over K is cut into ranges of k_per_split and `y` receives the raw partial sums
/// [splits, batch, M, N], which matmul_reduce adds up.
struct MatmulArgs {
  A_ELEMENTS a;     ///< [batch, M, K], or [batch, K, M] when transposed
  B_ELEMENTS b;     ///< [batch, K, N], or [batch, N, K] when transposed
  A_PAIRS a_pairs;  ///< the same addresses, read only by kernels told that every row is aligned
  B_PAIRS b_pairs;
  A_QUADS a_quads;
  B_QUADS b_quads;
  Y_ELEMENTS y;               ///< [batch, M, N]
  Y_ELEMENTS pre_activation;  ///< [batch, M, N]
  Floats bias;                ///< [N]
  Y_ELEMENTS residual;        ///< [batch, M, N]
  Y_QUADS y_quads;            ///< the same addresses, where rows start at whole quads: SwiftShader can't cast them
  Y_QUADS residual_quads;
  uint m, n, k;
  uint batch;
  uint splits;
  uint k_per_split;  ///< a multiple of 4
  float scale;
  uint flags;  ///< MATMUL_*: which of pre_activation, bias and residual are there, and what becomes of large results
};

VKFORMER_SHARED_END
#endif
