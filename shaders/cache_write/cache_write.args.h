#ifndef VKFORMER_CACHE_WRITE_ARGS_H
#define VKFORMER_CACHE_WRITE_ARGS_H
#include "shaders/common/shared.h"
VKFORMER_SHARED_BEGIN

struct CacheWriteArgs {
  Floats source;   ///< first column wanted of the first row
  KeyReals cache;  ///< [B, S, C]
  Ints position;
  int queries;     ///< T
  int keys;        ///< S
  int words;       ///< of a cache row: C, or C / 2
  int stride;      ///< words from one source row to the next
  int positions;   ///< one, or one for each batch
};

VKFORMER_SHARED_END
#endif
