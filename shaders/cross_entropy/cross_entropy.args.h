#ifndef VKFORMER_CROSS_ENTROPY_ARGS_H
#define VKFORMER_CROSS_ENTROPY_ARGS_H
// Rows of C logits, of which the first V are of classes. Specialization constants 0-3: shaders/common/rows.glsl,
// COLUMNS is C. cross_entropy, 4: label_smoothing is not 0.
#include "shaders/common/rows.args.h"
#include "shaders/common/stream.args.h"

VKFORMER_SHARED_BEGIN

struct CrossEntropyArgs {
  Reals logits;        // [rows, C]
  Ints targets;        // [rows]
  Floats log_sum_exp;  // [rows], written if has_log_sum_exp
  Floats row_loss;     // [rows], 0 for ignored rows
  Rows rows;
  int classes;  // V
  int ignore_index;
  uint has_log_sum_exp;
  float label_smoothing;
};

// Bits of `outputs`: which outputs are wanted. The others have no storage.
struct CrossEntropyMeanArgs {
  Ints targets;     // [all]
  Floats row_loss;  // [rows], of targets first ..
  Floats loss;      // [1], bit 0
  Floats count;     // [1], bit 1
  uint first;
  uint rows;
  uint all;
  int classes;  // V
  int ignore_index;
  uint outputs;
};

struct CrossEntropyBackwardArgs {
  Floats logits;       // [rows, C]
  Ints targets;        // [rows]
  Floats log_sum_exp;  // [rows]
  Floats count;        // [1], unless there are positions
  Floats upstream;     // [1], or [rows / positions]
  Floats dlogits;      // [rows, C], zero behind the classes
  Rows rows;
  int classes;  // V
  int ignore_index;
  float label_smoothing;
  uint positions;  // rows that share an upstream; 0: all do
};

// cross_entropy_backward_flat. Specialization constant 1: C.
struct CrossEntropyBackwardFlatArgs {
  RealQuads logits;    // [rows, C]
  Ints targets;        // [rows]
  Floats log_sum_exp;  // [rows]
  Floats count;        // [1], unless there are positions
  Floats upstream;     // [1], or [rows / positions]
  RealQuads dlogits;   // [rows, C], zero behind the classes
  Stream stream;
  int classes;  // V
  int ignore_index;
  float label_smoothing;
  uint positions;  // rows that share an upstream; 0: all do
};

#ifndef __cplusplus
// A target that is no class is ignored, whatever the number, so nothing is ever read past a row.
bool counts(int target, int classes, int ignore_index) {
  return target >= 0 && target < classes && target != ignore_index;
}
#endif

VKFORMER_SHARED_END
#endif
