#ifndef VKFORMER_ROWS_ARGS_H
#define VKFORMER_ROWS_ARGS_H
// How workgroups share the rows of a matrix out; see rows.glsl (kernels) and rows.h (launches).
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct Rows {
  uint count;
  uint per_group;  // that one workgroup takes, one after the other
};

VKFORMER_SHARED_END
#endif
