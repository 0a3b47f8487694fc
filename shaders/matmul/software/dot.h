#pragma once
// Candidate "dot": few rows of a, b transposed. Reads b once, row by row.

#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

bool dot_legal(const MatmulProblem& p, const DeviceFacts& facts);

/// What it can take in of the ops before and after: see normed_product.h.
struct DotNeighbours {
  uint64_t gain = 0;      ///< address; 0: a is not to be normed
  float gain_offset = 0;  ///< added to every gain
  float epsilon = 0;
  bool gated = false;
};
void record_dot(Recorder& recorder, const MatmulWork& work, const DotNeighbours& neighbours);

}  // namespace vkformer
