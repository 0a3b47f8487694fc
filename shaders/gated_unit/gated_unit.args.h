#ifndef VKFORMER_GATED_UNIT_ARGS_H
#define VKFORMER_GATED_UNIT_ARGS_H
// Specialization constants, 1: an activation of shaders/common/activation.glsl; gated_unit_backward, 2: dup is wanted.
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct GatedUnitArgs {
  FloatQuads gate;
  FloatQuads up;
  FloatQuads y;
  Stream stream;
};

struct GatedUnitBackwardArgs {
  FloatQuads upstream;
  FloatQuads gate;
  FloatQuads up;
  FloatQuads dgate;
  FloatQuads dup;
  Stream stream;
};

VKFORMER_SHARED_END
#endif
