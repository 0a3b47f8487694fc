#ifndef VKFORMER_DROPOUT_ARGS_H
#define VKFORMER_DROPOUT_ARGS_H
// Specialization constant 1: there is a residual.
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct DropoutArgs {
  RealQuads x;
  RealQuads y;
  RealQuads residual;
  Ints seed;  // seed, step
  Stream stream;
  uint key;        // the second half of the generator's key
  uint threshold;  // keep iff the word's high 24 bits are at least this
  float scale;
};

VKFORMER_SHARED_END
#endif
