#ifndef VKFORMER_GATED_UNIT_ARGS_H
#define VKFORMER_GATED_UNIT_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl; 4: an activation of shaders/common/activation.glsl;
// gated_unit_backward, 5: dup is wanted.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

#ifdef OF_FLOATS
#define GateReals RowFloats
#else
#define GateReals Reals
#endif

struct GatedUnitArgs {
  GateReals gate;
  GateReals up;
  Reals y;
  Rows rows;
  uint stride;  ///< elements from row to row of gate and of up
  float most;   ///< a 16-bit y: finite values beyond it become it; infinity: none do
};

struct GatedUnitBackwardArgs {
  Reals upstream;
  Reals gate;
  Reals up;
  Reals dgate;
  Reals dup;
  Rows rows;
  uint stride;  ///< elements from row to row of gate, up, dgate and dup
};

VKFORMER_SHARED_END
#endif
