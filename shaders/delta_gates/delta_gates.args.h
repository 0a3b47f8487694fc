#ifndef VKFORMER_DELTA_GATES_ARGS_H
#define VKFORMER_DELTA_GATES_ARGS_H
// Specialization constant 0: invocations of a workgroup.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct DeltaGatesArgs {
  Floats projected;
  Floats rate;
  Floats offset;
  Floats gates;
  uint elements;  // pairs of b and a
  uint heads;
  uint steps;  // `projected` has a alone
};

struct DeltaGatesBackwardArgs {
  Floats upstream;
  Floats projected;
  Floats rate;
  Floats offset;
  Floats dprojected;  // bit 0 of `outputs`
  Floats drate;       // [.., H]: each row's part, bit 1
  uint elements;
  uint heads;
  uint steps;
  uint outputs;
};

VKFORMER_SHARED_END
#endif
