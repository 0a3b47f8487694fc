#ifndef VKFORMER_LAYER_NORM_ARGS_H
#define VKFORMER_LAYER_NORM_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl. 4: layer_norm has a bias, layer_norm_backward an addend.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

// Bits of `outputs`: which outputs are wanted. The others have no storage.
struct LayerNormArgs {
  RowFloats x;            // [rows, C]
  RowFloats gain;         // [C]
  RowFloats bias;         // [C]
  Reals y;                // [rows, C], bit 0
  Floats mean;            // [rows], bit 1
  Floats reciprocal_std;  // [rows], bit 2
  Rows rows;
  float epsilon;
  uint outputs;
  float most;  // a 16-bit y: finite values beyond it become it; infinity: none do
};

struct LayerNormBackwardArgs {
  Reals upstream;          // [rows, C]
  RowFloats x;             // [rows, C]
  RowFloats gain;          // [C]
  Floats mean;             // [rows]
  Floats reciprocal_std;   // [rows]
  RowFloats addend;        // [rows, C]
  RowFloats dx;            // [rows, C], bit 0
  RowFloats partial_sums;  // [groups, 2, C]: one workgroup's part of dgain, then of dbias; bit 1
  Rows rows;
  uint outputs;
};

VKFORMER_SHARED_END
#endif
