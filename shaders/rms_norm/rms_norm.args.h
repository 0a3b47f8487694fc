#ifndef VKFORMER_RMS_NORM_ARGS_H
#define VKFORMER_RMS_NORM_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl; 4: there is a residual, in rms_norm_backward an addend;
// 5, in rms_norm: there is a scale.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

// Bits of `outputs`: which outputs are wanted. The others have no storage.
struct RmsNormArgs {
  RowFloats x;            // [rows, C]
  RowFloats gain;         // [groups, C]
  RowFloats residual;     // [rows, C]
  Floats scale;           // [1]
  Reals y;                // [rows, C], bit 0
  Floats reciprocal_rms;  // [rows], bit 1
  Rows rows;              // of one group each
  uint groups;            // row r is of group r % groups
  float epsilon;
  float gain_offset;  // added to every gain
  uint outputs;
  float most;  // a 16-bit y: finite values beyond it become it; infinity: none do
};

struct RmsNormBackwardArgs {
  Reals upstream;          // [rows, C]
  RowFloats x;             // [rows, C]
  RowFloats gain;          // [groups, C]
  Floats reciprocal_rms;   // [rows]
  RowFloats addend;        // [rows, C]
  RowFloats dx;            // [rows, C], bit 0
  RowFloats partial_sums;  // [workgroups, C]: one workgroup's part of its group's dgain, bit 1
  Rows rows;               // of one group each
  uint groups;             // row r is of group r % groups
  float gain_offset;
  uint outputs;
};

VKFORMER_SHARED_END
#endif
