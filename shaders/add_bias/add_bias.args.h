#ifndef VKFORMER_ADD_BIAS_ARGS_H
#define VKFORMER_ADD_BIAS_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct AddBiasArgs {
  Reals x;         // [rows, C]
  RowFloats bias;  // [C]
  Reals y;         // [rows, C]
  Rows rows;
};

VKFORMER_SHARED_END
#endif
