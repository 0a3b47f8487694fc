#ifndef VKFORMER_LOG_LIKELIHOOD_ARGS_H
#define VKFORMER_LOG_LIKELIHOOD_ARGS_H
#include "shaders/common/rows.args.h"

VKFORMER_SHARED_BEGIN

// sequence_sum. Specialization constant 0: shaders/common/rows.glsl.
struct SequenceSumArgs {
  Floats row_loss;        // [sequences, positions]
  Floats log_likelihood;  // [sequences]
  Rows rows;              // sequences
  uint positions;
};

VKFORMER_SHARED_END
#endif
