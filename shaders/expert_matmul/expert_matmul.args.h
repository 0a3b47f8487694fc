#ifndef VKFORMER_EXPERT_MATMUL_ARGS_H
#define VKFORMER_EXPERT_MATMUL_ARGS_H
#include "shaders/matmul/matmul.args.h"

VKFORMER_SHARED_BEGIN

/// Lists the pairs of a token and one of its experts by expert, each expert's in their order.
struct ExpertOrderArgs {
  Ints chosen;   ///< [pairs]: each pair's expert
  Ints order;    ///< [pairs]: the pair at each place of the list
  Ints tokens;   ///< [pairs]: its token, pair / slots
  Ints offsets;  ///< [E + 1]: where each expert's begin; the last: pairs
  uint pairs;
  uint experts;  ///< E
  uint slots;    ///< pairs of a token, one after the other
};

/// One launch of a kernel that computes, for the pairs of each expert e in that list,
///   y[pair, N] = a[K] op(b[e])[K, N] + bias[e],  a the row of A that a_places gives, or with TRANSPOSE_A
///   y[e, M, N] = sum over the pairs of a^T b,  rows of A and of B.
struct ExpertMatmulArgs {
  A_ELEMENTS a;
  B_ELEMENTS b;     ///< [E, K, N], transposed [E, N, K]; with TRANSPOSE_A rows [N]
  A_PAIRS a_pairs;  ///< the same addresses, read only by kernels told that every row is aligned
  B_PAIRS b_pairs;
  A_QUADS a_quads;
  B_QUADS b_quads;
  Floats y;
  Ints a_places;  ///< [pairs], by place in the list: which row of A, and of B with TRANSPOSE_A
  Ints b_places;
  Ints order;  ///< of ExpertOrderArgs
  Ints offsets;
  Floats bias;   ///< [E, N]
  uint m, n, k;  ///< m: with TRANSPOSE_A; k: without
  uint pairs;
  uint experts;
  uint has_bias;  ///< 0: there is none
};

VKFORMER_SHARED_END
#endif
