#ifndef VKFORMER_SWAP_AXES_ARGS_H
#define VKFORMER_SWAP_AXES_ARGS_H
// x is [N, A, B, D], y is [N, B, A, D]. Specialization constants of swap_axes, 0-3: shaders/common/rows.glsl; of
// swap_axes_flat, 0: lanes, 1: words in a row (D, or D / 4 for vec4).
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct SwapAxesArgs {
  Floats x;
  Floats y;
  Rows rows;  // N A B
  uint a;
  uint b;
};

struct SwapAxesFlatArgs {
  FloatQuads x;
  FloatQuads y;
  uint words;  // of the whole tensor
  uint span;   // words that one workgroup takes
  uint a;
  uint b;
};

VKFORMER_SHARED_END
#endif
