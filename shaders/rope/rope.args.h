#ifndef VKFORMER_ROPE_ARGS_H
#define VKFORMER_ROPE_ARGS_H
// Specialization constants 0-3: shaders/common/rows.glsl. 4: head width, 5: rotary width / 2, 6: interleaved.
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

struct RopeArgs {
  Reals x;          // [rows, columns]
  RowFloats table;  // [table_rows, rotary width]
  Ints position;    // [offsets]; anything readable if offsets is 0
  Reals y;          // [rows, columns]
  Rows rows;
  int positions;  // T: rows n and n + T are at the same place of their sequence
  int table_rows;
  uint offsets;     // none, one, or one for each sequence of T rows
  float direction;  // 1, or -1 to turn back
  uint column;      // the first of head 0
  uint heads;
  uint copy;   // also the columns that do not turn
  float most;  // finite values of a 16-bit y beyond it become it
};

VKFORMER_SHARED_END
#endif
