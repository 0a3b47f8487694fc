#ifndef VKFORMER_ROOF_ARGS_H
#define VKFORMER_ROOF_ARGS_H
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct RoofMultiplyAddArgs {
  FloatQuads x;
  FloatQuads y;
  uint rows;
  uint rounds;  // of 8 steps
  float factor;
  float term;
};

/// Sums that a subgroup has under way.
const uint ROOF_CHAINS = 8;

struct RoofMatrixArgs {
  Halves x;
  Floats y;
  uint elements;
  uint steps;
  float factor;
};

VKFORMER_SHARED_END
#endif
