#ifndef VKFORMER_LAST_VISIBLE_ARGS_H
#define VKFORMER_LAST_VISIBLE_ARGS_H
// Specialization constant 0: invocations of a workgroup, each with a row.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct LastVisibleArgs {
  Ints mask;       // [B, T]
  Ints last;       // [B, 1]
  uint rows;       // B
  uint positions;  // T
};

VKFORMER_SHARED_END
#endif
