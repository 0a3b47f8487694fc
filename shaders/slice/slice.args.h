#ifndef VKFORMER_SLICE_ARGS_H
#define VKFORMER_SLICE_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct SliceArgs {
  Floats source;  // f32, or words of two 16-bit floats: the first column taken of the first row
  Floats target;  // where it goes
  Rows rows;
  uint source_stride;  // words from row to row
  uint target_stride;
  uint repeat;  // rows of the target that one of the source stands for
};

VKFORMER_SHARED_END
#endif
