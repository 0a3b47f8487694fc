#ifndef VKFORMER_ACCUMULATE_ARGS_H
#define VKFORMER_ACCUMULATE_ARGS_H
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct AccumulateArgs {
  FloatQuads sum;
  FloatQuads x;
  Ints first;
  Stream stream;
};

VKFORMER_SHARED_END
#endif
