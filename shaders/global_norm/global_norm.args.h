#ifndef VKFORMER_GLOBAL_NORM_ARGS_H
#define VKFORMER_GLOBAL_NORM_ARGS_H
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

// Specialization constant 1: false, square one block and sum it to one number a workgroup; true, sum these numbers and
// take the root, in one workgroup.
struct GlobalNormArgs {
  FloatQuads x;
  Floats y;
  Stream stream;
  uint results;  // numbers to write
};

VKFORMER_SHARED_END
#endif
