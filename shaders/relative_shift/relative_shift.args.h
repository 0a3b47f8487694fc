#ifndef VKFORMER_RELATIVE_SHIFT_ARGS_H
#define VKFORMER_RELATIVE_SHIFT_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl. 4: of relative_shift, there are segments; of
// relative_shift_position_backward, L < S + T, so that several keys may share the last column.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct RelativeShiftArgs {
  Floats position_scores;  // [H, B T, L]; of the backward kernels, the gradient wanted
  Floats segment_scores;   // [H, B T, 2]; likewise
  Ints segments;           // [B, S]
  Floats bias;             // [B, H, T, S]; of the backward kernels, its gradient
  Rows rows;               // B H T
  uint batches;
  uint heads;
  uint queries;
  uint keys;
  uint positions;  // L
  float scale;
};

VKFORMER_SHARED_END
#endif
