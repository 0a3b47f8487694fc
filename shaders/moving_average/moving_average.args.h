#ifndef VKFORMER_MOVING_AVERAGE_ARGS_H
#define VKFORMER_MOVING_AVERAGE_ARGS_H
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct MovingAverageArgs {
  FloatQuads average;
  FloatQuads x;
  Floats rate;
  Stream stream;
};

VKFORMER_SHARED_END
#endif
