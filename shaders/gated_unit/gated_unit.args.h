#ifndef VKFORMER_GATED_UNIT_ARGS_H
#define VKFORMER_GATED_UNIT_ARGS_H
// Specialization constants 0-4: shaders/common/rows.glsl; 5: an activation of shaders/common/activation.glsl;
// gated_unit_backward, 6: dup is wanted.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct GatedUnitArgs {
  Floats gate;
  Floats up;
  Floats y;
  uint rows;
  uint stride;  ///< floats from row to row of gate and of up
};

struct GatedUnitBackwardArgs {
  Floats upstream;
  Floats gate;
  Floats up;
  Floats dgate;
  Floats dup;
  uint rows;
  uint stride;  ///< floats from row to row of gate, up, dgate and dup
};

VKFORMER_SHARED_END
#endif
