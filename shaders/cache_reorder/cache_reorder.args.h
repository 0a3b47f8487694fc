#ifndef VKFORMER_CACHE_REORDER_ARGS_H
#define VKFORMER_CACHE_REORDER_ARGS_H
// Specialization constants 0: lanes; 1: every row of the batch starts 16-byte aligned.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct CacheReorderArgs {
  FloatQuads source;  // [B, S, C]
  FloatQuads target;  // [B, S, C]
  Ints rows;          // [B]
  Ints count;         // [1]
  int batches;
  int keys;      // S
  uint columns;  // C, or of 16-bit caches C / 2: words
  uint chunks;   // workgroups for one row of the batch
  uint span;     // words that one workgroup copies: vec4, or floats where rows are not aligned
  uint gather;   // 1: target[b] = source[rows[b]], 0: target[b] = source[b]
};

VKFORMER_SHARED_END
#endif
