#ifndef VKFORMER_VISIBLE_KEYS_ARGS_H
#define VKFORMER_VISIBLE_KEYS_ARGS_H
// Specialization constant 0: invocations of a workgroup.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct VisibleKeysArgs {
  Ints numbers;  // [B, T]
  Ints visible;  // [B, T, T]
  uint elements;
  uint positions;  // T
  uint span;       // elements that one workgroup takes
  uint rule;       // a MaskRule
};

VKFORMER_SHARED_END
#endif
