#ifndef VKFORMER_CAST_ARGS_H
#define VKFORMER_CAST_ARGS_H
// cast, specialization constant 1: to 16 bits (otherwise from them).
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct CastArgs {
  FloatQuads wide;
  RealQuads narrow;
  Stream stream;
  float most;  // to 16 bits: finite values beyond it become it; infinity: none do
};

struct CastBlocksArgs {
  Halves blocks;  // the words of [rows, columns] encoded blocks
  Halves y;       // [rows, columns]
  uint rows;
  uint columns;
};

VKFORMER_SHARED_END
#endif
