#ifndef VKFORMER_ADAMW_ARGS_H
#define VKFORMER_ADAMW_ARGS_H
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct AdamWArgs {
  FloatQuads parameters;
  FloatQuads gradient;
  FloatQuads moment1;
  FloatQuads moment2;
  Floats schedule;  // learning rate, 1 - beta1^t, sqrt(1 - beta2^t), and of a scaled loss 1 / scale
  Floats norm;      // anything readable if it is not needed
  Stream stream;
  uint decayed;
  float beta1_rest;  // 1 - beta1, rounded once
  float beta2;
  float beta2_rest;  // 1 - beta2
  float epsilon;
  float weight_decay;
  float clip_norm;      // 0: the gradient is not clipped
  uint decay_gradient;  // decay is added to the gradient
  uint scaled;          // the gradient is that of a scaled loss
};

VKFORMER_SHARED_END
#endif
