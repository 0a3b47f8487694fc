#ifndef VKFORMER_ADD_BIAS_ARGS_H
#define VKFORMER_ADD_BIAS_ARGS_H
// Specialization constants 0-4: shaders/common/rows.glsl.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct AddBiasArgs {
  Floats x;     // [rows, C]
  Floats bias;  // [C]
  Floats y;     // [rows, C]
  uint rows;
};

VKFORMER_SHARED_END
#endif
