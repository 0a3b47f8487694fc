#ifndef VKFORMER_ATTENTION_ARGS_H
#define VKFORMER_ATTENTION_ARGS_H
// Push constants of the attention kernels and the numbers of their specialization constants. A constant decides what
// code there is: head widths, which inputs and rules a score depends on. Values, and rules that cost a few instructions
// a workgroup, are push constants, so that nodes that differ in them share pipelines. Those of AttentionBackwardArgs
// are the 128 bytes that there are.
#include "shaders/common/shared.h"
VKFORMER_SHARED_BEGIN

/// What every kernel needs: where queries, keys and values lie and who sees whom. `q`, `k`, `v` point at the first
/// column of head 0 in the first row; strides are columns from one row to the next.
struct AttentionSource {
  Reals q;
  KeyReals k;
  KeyReals v;
  Ints step;    ///< what changes from step to step: {position?, seed, step}, or a position for each batch; without
                ///< any, anything readable
  Ints mask;    ///< read if ATTENTION_MASK
  Floats bias;  ///< [B or 1, H, T, S]; read if ATTENTION_BIAS
  int queries;
  int keys;
  int heads;
  uint rules;  ///< ATTENTION_GROUP_BITS: query heads that share one key head; above them, flags
  int q_stride;
  int k_stride;
  int v_stride;
  int window;     ///< keys that a query sees up to its own; 0 without ATTENTION_WINDOW
  float scale;    ///< of the products of queries and keys
  float softcap;  ///< read if ATTENTION_SOFTCAP
  float dropout;  ///< probability that a weight is dropped; read if ATTENTION_DROPOUT
  uint stream;    ///< second key of dropout's random numbers
};

struct AttentionArgs {
  AttentionSource source;
  Reals result;        ///< [B, T, H * Dv]
  Floats log_sum_exp;  ///< [B, H, T]
  Floats sinks;        ///< [H]; read if ATTENTION_SINKS
};

struct AttentionDecodeArgs {
  AttentionSource source;
  Floats result;       ///< [B, T, H * Dv]; with several parts [B, H, T, parts, Dv], not yet divided by their sums
  Floats log_sum_exp;  ///< [B, H, T]; with several parts {maximum, sum} of each: [B, H, T, parts, 2]
  Floats sinks;        ///< [H]; read if ATTENTION_SINKS, with several parts by attention_decode_merge alone
  int part_count;      ///< more than one: results for attention_decode_merge
};

struct AttentionMergeArgs {
  Floats parts;  ///< see AttentionDecodeArgs::result
  Floats sums;   ///< see AttentionDecodeArgs::log_sum_exp
  Floats result;
  Floats log_sum_exp;
  Floats sinks;  ///< [H]; read if ATTENTION_SINKS
  int queries;
  int heads;
  int part_count;
};

struct AttentionWeightsArgs {
  AttentionSource source;
  Floats log_sum_exp;
  Floats weights;  ///< [B, H, T, S]
  uint elements;   ///< of `weights`
};

struct AttentionDeltaArgs {
  KeyVectors result;
  KeyVectors upstream;  ///< gradient of `result`
  Floats log_sum_exp;
  FloatPairs terms;  ///< [B, H, T, 2]: {log_sum_exp, delta}
  int queries;
  int heads;
};

struct AttentionBackwardArgs {
  AttentionSource source;
  Reals upstream;  ///< [B, T, H * Dv]
  Floats terms;    ///< see AttentionDeltaArgs
  Reals target;    ///< gradient of q or of k, placed and strided like its source
  Reals target_v;  ///< gradient of v
};

struct AttentionBiasBackwardArgs {
  AttentionSource source;
  Reals upstream;
  Floats terms;
  Floats target;  ///< gradient of the bias
  int batches;
};

struct AttentionSinksBackwardArgs {
  Floats terms;   ///< see AttentionDeltaArgs
  Floats sinks;   ///< [H]
  Floats target;  ///< gradient of the sinks
  int queries;
  int heads;
  int batches;
};

VKFORMER_SHARED_END

#define ATTENTION_MOST_PARTS 256 /* of the keys of a query */

// Flags of `rules`.
#define ATTENTION_GROUP_BITS 0x03ffffffu
#define ATTENTION_POSITION_OF_BATCH 0x04000000u /* each batch has a position in `step` */
#define ATTENTION_CAUSAL 0x08000000u            /* a query sees no key behind its own */
#define ATTENTION_POSITION 0x10000000u      /* `step` begins with the number of cached keys before the first query */
#define ATTENTION_MASK_OF_QUERY 0x20000000u /* each query has a row of the mask */
#define ATTENTION_MASK_OF_BATCH 0x40000000u /* each batch has a mask */
#define ATTENTION_BIAS_OF_BATCH 0x80000000u /* each batch has a bias */

// Specialization constants common to the kernels; 0 is the workgroup's size. attention_decode_merge takes those up to
// ATTENTION_SINKS, attention_backward_delta the first two and one of its own.
#define ATTENTION_VALUE_WIDTH 1
#define ATTENTION_DELTA_LANES 2 /* that share a query */
#define ATTENTION_WANTED 2      /* bit o: output o is wanted */
#define ATTENTION_SINKS 3       /* there are sinks; of kernels that sum weights */
#define ATTENTION_HEAD_WIDTH 4
#define ATTENTION_DROPOUT 5 /* some weights are dropped */
#define ATTENTION_MASK 6    /* there is a mask input */
#define ATTENTION_BIAS 7    /* there is a bias input */
#define ATTENTION_WINDOW 8  /* queries see a window of keys only */
#define ATTENTION_SOFTCAP 9 /* scores are capped */
#define ATTENTION_EXTRA 10  /* first of the kernel's own */
#endif
