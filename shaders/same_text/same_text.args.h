#ifndef VKFORMER_SAME_TEXT_ARGS_H
#define VKFORMER_SAME_TEXT_ARGS_H
// Specialization constant 0: invocations of a workgroup.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct SameTextArgs {
  Ints texts;    // [B, T]
  Ints visible;  // [B, T, T]
  uint elements;
  uint positions;  // T
  uint span;       // elements that one workgroup takes
};

VKFORMER_SHARED_END
#endif
