#ifndef VKFORMER_LATENT_QUERY_ARGS_H
#define VKFORMER_LATENT_QUERY_ARGS_H
#include "shaders/common/shared.h"
VKFORMER_SHARED_BEGIN

struct LatentQueryArgs {
  Floats q;        ///< [heads, plain + 2 half]
  RealQuads keys;  ///< [heads, plain, rank], four neighbours at a time
  Floats table;    ///< [table_rows, 2 half]
  Ints position;   ///< [1]; anything readable if there is none
  Floats y;        ///< [heads, rank + 2 half]
  uint plain, half_width, rank;
  uint parts;  ///< that multiply
  int table_rows;
  uint has_position;
  uint interleaved;  ///< pairs are neighbours
};

VKFORMER_SHARED_END
#endif
