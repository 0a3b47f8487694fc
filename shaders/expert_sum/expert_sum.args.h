#ifndef VKFORMER_EXPERT_SUM_ARGS_H
#define VKFORMER_EXPERT_SUM_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl. Both, 4: there are weights. expert_sum, 5: there is a
// residual.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct ExpertSumArgs {
  Floats x;         // [rows, slots, C]
  Floats weights;   // [rows, slots]
  Floats residual;  // [rows, C]
  Floats y;         // [rows, C]
  Rows rows;
  uint slots;
};

struct ExpertSumBackwardArgs {
  Floats upstream;  // [rows, C]
  Floats x;         // [rows, slots, C]
  Floats weights;   // [rows, slots]
  Floats dx;        // [rows, slots, C]
  Floats dweights;  // [rows, slots]
  Rows rows;        // of dx
  uint slots;
  uint outputs;  // bit 0: dx is wanted, bit 1: dweights
};

VKFORMER_SHARED_END
#endif
