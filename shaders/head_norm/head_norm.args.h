#ifndef VKFORMER_HEAD_NORM_ARGS_H
#define VKFORMER_HEAD_NORM_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl, whose rows are heads here.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

// The heads of one width that a launch takes.
struct HeadColumnRange {
  uint stride;       // columns of a whole row of x
  uint column;       // the first of the first head
  uint heads;        // in a row
  uint index;        // of the first among all heads
  uint all_heads;    // in a row
  uint copy_column;  // from here on columns are copied; stride: none are
};

// Bits of `outputs`: which outputs are wanted. The others have no storage.
struct HeadNormArgs {
  Reals x;                // [rows, columns]
  RowFloats q_gain;       // [COLUMNS]
  RowFloats k_gain;       // [COLUMNS]
  Reals y;                // [rows, columns], bit 0
  Floats reciprocal_rms;  // [rows, all heads], bit 1
  Rows rows;              // heads of all rows
  HeadColumnRange range;
  uint q_heads;     // of the range, which come first; the others take k's gain
  uint gain_heads;  // of the range; those behind have no gain
  float epsilon;
  float gain_offset;  // added to every gain
  uint outputs;
};

struct HeadNormBackwardArgs {
  Reals upstream;          // [rows, columns]
  Reals x;                 // [rows, columns]
  RowFloats gain;          // [COLUMNS]
  Floats reciprocal_rms;   // [rows, all heads]
  Reals dx;                // [rows, columns], bit 0
  RowFloats partial_sums;  // [groups, COLUMNS]: one workgroup's part of dgain, bit 1
  Rows rows;
  HeadColumnRange range;
  float gain_offset;
  uint outputs;  // bit 2: the heads have no gain
};

VKFORMER_SHARED_END
#endif
