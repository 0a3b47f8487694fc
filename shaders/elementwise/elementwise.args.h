#ifndef VKFORMER_ELEMENTWISE_ARGS_H
#define VKFORMER_ELEMENTWISE_ARGS_H
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

// Specialization constant 1. Below 16 it is an activation, at 16 + k the gradient of activation k.
const uint elementwise_backward = 16;
const uint elementwise_add = 32;
const uint elementwise_scale = 33;
const uint elementwise_softcap = 34;
const uint elementwise_softcap_backward = 35;
const uint elementwise_multiply = 36;
const uint elementwise_scale_by = 37;

struct ElementwiseArgs {
  RealQuads x;
  RealQuads second;  // the addend, the factor or the pre-activation
  RealQuads y;
  Floats number;  // the factor of scale_by, [1]
  Stream stream;
  float factor;  // of scale; softcap's limit
};

VKFORMER_SHARED_END
#endif
