#ifndef VKFORMER_ROPE_ARGS_H
#define VKFORMER_ROPE_ARGS_H
// Specialization constants 0-4: shaders/common/rows.glsl. 5: column, 6: heads, 7: head width, 8: rotary width / 2,
// 9: interleaved, 10: copy the columns that do not turn.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct RopeArgs {
  Floats x;       // [rows, columns]
  Floats table;   // [table_rows, rotary width]
  Ints position;  // [offsets]; anything readable if offsets is 0
  Floats y;       // [rows, columns]
  uint rows;
  int positions;  // T: rows n and n + T are at the same place of their sequence
  int table_rows;
  uint offsets;     // none, one, or one for each sequence of T rows
  float direction;  // 1, or -1 to turn back
};

VKFORMER_SHARED_END
#endif
