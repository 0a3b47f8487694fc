#ifndef VKFORMER_COLUMN_SUM_ARGS_H
#define VKFORMER_COLUMN_SUM_ARGS_H
// Specialization constants 0: lanes along the columns; 1: slices of rows summed side by side, a power of two;
// 2: pairs of columns a lane; 3: pairs of columns are whole words, of 64 bits (f32_int64) or 32 (f16, bf16).
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct ColumnSumArgs {
  Reals x;      // [rows, columns], `stride` elements from row to row
  Floats sums;  // [blocks, split]: block b is the sum over rows b * rows_per_block ...
  Floats tail;  // [columns - split]: the columns from `split` on; only with a single block
  uint rows;
  uint columns;
  uint stride;
  uint split;
  uint rows_per_block;
};

VKFORMER_SHARED_END
#endif
