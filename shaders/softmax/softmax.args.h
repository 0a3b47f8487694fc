#ifndef VKFORMER_SOFTMAX_ARGS_H
#define VKFORMER_SOFTMAX_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl; softmax only, 4: there is a mask.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct SoftmaxArgs {
  Floats x;         // [B, .., T, S]
  Ints mask;        // [B or 1, T or 1, S]
  Floats y;         // like x
  Rows rows;        // B * .. * T
  uint queries;     // T
  uint batch_rows;  // .. * T: rows of one batch
  uint mask_batch;  // elements from one batch of the mask to the next; 0: all share one
  uint mask_row;    // elements from one row of the mask to the next; 0: all share one
  uint causal;
  float scale;
};

struct SoftmaxBackwardArgs {
  Floats upstream;  // [rows, S]
  Floats y;         // [rows, S]
  Floats dx;        // [rows, S]
  Rows rows;
  float scale;
};

VKFORMER_SHARED_END
#endif
