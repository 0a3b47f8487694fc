#ifndef VKFORMER_ATTENTION_ARGS_H
#define VKFORMER_ATTENTION_ARGS_H
// Push constants of the attention kernels and the numbers of their specialization constants.
#include "shaders/common/shared.h"
VKFORMER_SHARED_BEGIN

/// What every kernel needs: where queries, keys and values lie and who sees whom. `q`, `k`, `v` point at the first
/// column of head 0 in the first row; strides are floats from one row to the next.
struct AttentionSource {
  Floats q;
  Floats k;
  Floats v;
  Ints position;  ///< cached keys before the first query; read if ATTENTION_POSITION
  Ints seed;      ///< {seed, step}; read if ATTENTION_DROPOUT is not 0
  Ints mask;      ///< read if ATTENTION_MASK is not 0
  Floats bias;    ///< [B or 1, H, T, S]; read if ATTENTION_BIAS
  int queries;
  int keys;
  int heads;
  int q_stride;
  int k_stride;
  int v_stride;
  int shift;  ///< query t is at key t + shift, without a position
  int stream;
};

struct AttentionArgs {
  AttentionSource source;
  Floats result;       ///< [B, T, H * Dv]; of a kernel that splits the keys, partial results
  Floats log_sum_exp;  ///< [B, H, T]; of a kernel that splits the keys, {maximum, sum} of each part
};

struct AttentionWeightsArgs {
  AttentionSource source;
  Floats log_sum_exp;
  Floats weights;  ///< [B, H, T, S]
  uint elements;   ///< of `weights`
};

struct AttentionDeltaArgs {
  Floats result;
  Floats upstream;  ///< gradient of `result`
  Floats log_sum_exp;
  Floats terms;  ///< [B, H, T, 2]: {log_sum_exp, delta}
  int queries;
  int heads;
};

struct AttentionBackwardArgs {
  AttentionSource source;
  Floats upstream;  ///< [B, T, H * Dv]
  Floats terms;     ///< see AttentionDeltaArgs
  Floats target;    ///< gradient of q, of k (placed and strided like its source), or of the bias
  Floats target_v;  ///< gradient of v
  int batches;
};

struct AttentionMergeArgs {
  Floats parts;  ///< [B, H, T, parts, Dv]
  Floats sums;   ///< [B, H, T, parts, 2]
  Floats result;
  Floats log_sum_exp;
  int queries;
  int heads;
  int part_count;
};

VKFORMER_SHARED_END

// Specialization constants common to the kernels; 0 is the workgroup's size.
#define ATTENTION_HEAD_WIDTH 1
#define ATTENTION_VALUE_WIDTH 2
#define ATTENTION_GROUP 3 /* query heads that share one key head */
#define ATTENTION_SCALE 4 /* f32 */
#define ATTENTION_CAUSAL 5
#define ATTENTION_POSITION 6 /* there is a position input */
#define ATTENTION_DROPOUT 7  /* f32, probability that a weight is dropped */
#define ATTENTION_FLAGS 8    /* bit o: output o is wanted */
#define ATTENTION_MASK 9     /* 0: none, 1: [., 1, S], 2: [., T, S] */
#define ATTENTION_BIAS 10    /* there is a bias input */
#define ATTENTION_SHARED 11  /* bit 0: all batches have one mask, bit 1: one bias */
#define ATTENTION_WINDOW 12  /* keys that a query sees up to its own; 0: no such limit */
#define ATTENTION_SOFTCAP 13 /* f32; 0: none */
#define ATTENTION_EXTRA 14   /* first of the kernel's own */
#endif
