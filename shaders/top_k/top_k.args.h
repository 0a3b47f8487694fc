#ifndef VKFORMER_TOP_K_ARGS_H
#define VKFORMER_TOP_K_ARGS_H
#include "shaders/common/shared.h"

#ifndef __cplusplus
// {key, index} of elements, written and read by one workgroup.
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Candidates { uvec2 v[]; };
#endif

VKFORMER_SHARED_BEGIN

#ifdef __cplusplus
using Candidates = uint64_t;
#endif

struct TopKArgs {
  Floats x;       ///< [rows, columns]
  Floats values;  ///< [rows, count]
  Ints indices;
  Candidates candidates;  ///< [rows, room]
  uint rows;
  uint columns;
  uint count;
  uint room;
  uint outputs;  ///< bit 1: the indices are wanted
};

VKFORMER_SHARED_END
#endif
