#pragma once
// Candidate "vector": few rows of a. Reads b once.

#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

/// What it can take in of the ops before and after, see normed_product.h and expert_product.h, and which weights each
/// product has, see expert_matmul.h.
struct VectorNeighbours {
  uint32_t norm = 0;      ///< MATMUL_NORM_* of matmul_vector.args.h; 0: a is not to be normed
  uint64_t gain = 0;      ///< address
  uint64_t shift = 0;     ///< address; 0: nothing is added behind the gain
  float gain_offset = 0;  ///< added to every gain
  float epsilon = 0;
  bool gated = false;
  uint64_t chosen = 0;   ///< address; 0: b holds one matrix for each product
  uint32_t slots = 1;    ///< products that have the same row of a, or are one sum
  uint64_t weights = 0;  ///< address; 0: nothing is summed. K of the problem is that of all products of a sum
};

bool vector_legal(const MatmulProblem& p, const DeviceFacts& facts);
/// Also with the rows of a normed, which lie in shared memory then. Gates need b transposed.
bool normed_vector_legal(const MatmulProblem& p, const DeviceFacts& facts, bool gated);
void record_vector(Recorder& recorder, const MatmulWork& work, const VectorNeighbours& neighbours);

}  // namespace vkformer
