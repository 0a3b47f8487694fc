#ifndef VKFORMER_ROUTER_ARGS_H
#define VKFORMER_ROUTER_ARGS_H
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct RouterArgs {
  Floats logits;   ///< [rows, E]
  Floats bias;     ///< [E], read if BIAS
  Floats weights;  ///< [rows, count]
  Ints chosen;     ///< [rows, count]
  uint rows;
  uint experts;  ///< E
  uint count;
  uint outputs;   ///< bit 0: the weights are wanted, bit 1: what is chosen
  float epsilon;  ///< added to the sum that weights are divided by
};

struct RouterBackwardArgs {
  Floats upstream;  ///< [rows, count]
  Floats logits;    ///< [rows, E]
  Floats weights;   ///< [rows, count]
  Ints chosen;      ///< [rows, count]
  Floats dlogits;   ///< [rows, E]
  uint elements;    ///< of dlogits
  uint experts;
  uint count;
};

VKFORMER_SHARED_END
#endif
