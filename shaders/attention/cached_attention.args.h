#ifndef VKFORMER_CACHED_ATTENTION_ARGS_H
#define VKFORMER_CACHED_ATTENTION_ARGS_H
#include "shaders/attention/attention.args.h"
VKFORMER_SHARED_BEGIN

/// What attention.glsl's rules read; `dropout` and `stream` are not used.
struct CachedAttentionRules {
  Ints step;  ///< {position}
  Ints mask;
  Floats bias;
  int queries;
  int keys;
  int heads;
  uint rules;
  int window;
  float softcap;
  float dropout;
  uint stream;
};

struct CachedAttentionArgs {
  CachedAttentionRules source;
  Floats x;          ///< q of head 0 of the first row; k's heads behind q's, then v's
  KeyVectors cache;  ///< [B, S, Hk * (D + Dv)]
  Floats result;     ///< [B, T, H * Dv]; of several parts as in AttentionDecodeArgs
  Floats sums;       ///< of several parts, likewise; of one the sinks [H], read if ATTENTION_SINKS
  Floats table;      ///< [table_rows, 2 HALF]: cosines, then sines
  Ints offsets;      ///< rows of the table for query 0: one, or one for each batch
  int table_rows;
  int offset_count;
  int x_stride;
  float scale;
  uint part_count;  ///< of the keys, a workgroup each
};

VKFORMER_SHARED_END

// Its own constants.
#define CACHED_SUBGROUP 10 /* invocations of a full one; 1: there are none */
#define CACHED_LANES 11    /* that share a key; at most a subgroup */
#define CACHED_CAPACITY 12 /* scores that shared memory holds */
#define CACHED_HALF 13     /* columns of a head that turn, halved */
#define CACHED_INTERLEAVED 14
#define CACHED_SEVERAL 15 /* parts: results for attention_decode_merge */
#define CACHED_QUERIES 16

#define CACHED_PART_STEP 64 /* keys: a part has a multiple of them */
#endif
