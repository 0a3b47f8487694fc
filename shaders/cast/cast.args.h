#ifndef VKFORMER_CAST_ARGS_H
#define VKFORMER_CAST_ARGS_H
// Specialization constant 1: to 16 bits (otherwise from them).
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct CastArgs {
  FloatQuads wide;
  RealQuads narrow;
  Stream stream;
};

VKFORMER_SHARED_END
#endif
