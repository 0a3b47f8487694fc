#ifndef VKFORMER_CACHED_ROW_ARGS_H
#define VKFORMER_CACHED_ROW_ARGS_H
#include "shaders/common/shared.h"
VKFORMER_SHARED_BEGIN

struct CachedRowArgs {
  Floats x;        ///< [B, columns]
  Floats gain;     ///< [normed]
  Floats table;    ///< [table_rows, 2 half]
  Ints firsts;     ///< [first_count]; anything readable if that is 0
  KeyReals cache;  ///< [B, keys, columns]
  Ints position;   ///< [positions]
  int columns, normed, keys, positions;
  int column, half_width;  ///< that turn: the first one, and pairs
  int table_rows, first_count;
  uint interleaved;  ///< pairs are neighbours
  float gain_offset, epsilon;
};

VKFORMER_SHARED_END
#endif
