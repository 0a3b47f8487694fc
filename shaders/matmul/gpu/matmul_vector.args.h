#ifndef VKFORMER_MATMUL_VECTOR_ARGS_H
#define VKFORMER_MATMUL_VECTOR_ARGS_H
#include "shaders/matmul/matmul.args.h"

#ifndef __cplusplus
#if defined(B_HALF) || defined(BLOCKS)
#define B_VECTORS HalfPacks
#else
#define B_VECTORS FloatQuads
#endif
#endif

VKFORMER_SHARED_BEGIN

#ifdef __cplusplus
using B_VECTORS = uint64_t;
#endif

// What is done to the rows of a first: constant NORM.
const uint MATMUL_NORM_RMS = 1;    ///< rms_norm
const uint MATMUL_NORM_LAYER = 2;  ///< layer_norm

// Of SUMMED products.
const uint MATMUL_MOST_SLOTS = 32;
const uint MATMUL_MOST_SUMMED_K = 32768;

/// One launch of matmul_vector: `batch` products y[M, N] = activation(scale * norm(a)[M, K] op(b)[K, N] + bias) +
/// residual, M a constant. CHOSEN ones, of one row each, have a b of `chosen`, and `slots` of them, one after the
/// other, the same a. SUMMED is CHOSEN with `slots` products for each y, which are weighted and added up.
struct MatmulVectorArgs {
  A_ELEMENTS a;
  A_QUADS a_quads;  ///< the same addresses, read only by kernels told that every row is aligned
  B_ELEMENTS b;
  B_QUADS b_quads;
  B_VECTORS b_vectors;  ///< 16 bytes at a time
  Floats y;
  Floats pre_activation;
  Floats bias;  ///< [N]; of CHOSEN ones a row for each b, weighted with its product
  Floats residual;
  Floats gain;   ///< [K], where a is to be normed; of SUMMED ones the weights [batch, slots]
  Floats shift;  ///< [K], what is added then; read with MATMUL_SHIFT
  Ints chosen;   ///< [batch], of SUMMED ones [batch, slots]
  uint n, k;
  uint batch;
  float scale;
  float gain_offset;  ///< added to every gain
  float epsilon;
  uint flags;  ///< MATMUL_*
  uint slots;
};

VKFORMER_SHARED_END
#endif
