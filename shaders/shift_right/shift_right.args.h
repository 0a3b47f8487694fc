#ifndef VKFORMER_SHIFT_RIGHT_ARGS_H
#define VKFORMER_SHIFT_RIGHT_ARGS_H
// Specialization constant 0: invocations of a workgroup, each with an id.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct ShiftRightArgs {
  Ints ids;      // [B, T]
  Ints shifted;  // [B, T]
  uint elements;
  uint positions;  // T
  int first;
};

VKFORMER_SHARED_END
#endif
