#ifndef VKFORMER_UNFOLD_ARGS_H
#define VKFORMER_UNFOLD_ARGS_H
// x is [B, x_positions, channels], y [B, y_positions, channels * SIZE]. Specialization constants, 0: lanes, 1: SIZE.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct UnfoldArgs {
  Floats source;  // x, or y's gradient
  Floats target;  // y, or x's gradient
  uint elements;  // of the target
  uint x_positions;
  uint channels;
  uint y_positions;
  uint stride;
  uint padding;
};

VKFORMER_SHARED_END
#endif
