#ifndef VKFORMER_GATED_UNIT_ARGS_H
#define VKFORMER_GATED_UNIT_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl; 4: an activation of shaders/common/activation.glsl;
// gated_unit_backward, 5: dup is wanted.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct GatedUnitArgs {
  Floats gate;
  Floats up;
  Floats y;
  Rows rows;
  uint stride;  ///< floats from row to row of gate and of up
};

struct GatedUnitBackwardArgs {
  Floats upstream;
  Floats gate;
  Floats up;
  Floats dgate;
  Floats dup;
  Rows rows;
  uint stride;  ///< floats from row to row of gate, up, dgate and dup
};

VKFORMER_SHARED_END
#endif
