#ifndef VKFORMER_DRAW_ARGS_H
#define VKFORMER_DRAW_ARGS_H
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct DrawArgs {
  Floats values;    ///< [rows, columns]
  Ints indices;     ///< [rows, columns]
  Floats settings;  ///< [rows, 5]
  Ints counts;      ///< [rows]
  Ints drawn;       ///< [rows]
  uint rows;
  uint columns;
};

VKFORMER_SHARED_END
#endif
