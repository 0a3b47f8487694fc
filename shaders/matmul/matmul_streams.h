#pragma once
// Products on lavapipe that read their operands as streams of vectors: shaders/common/vector_load.glsl.

#include "shaders/matmul/matmul.args.h"
#include "shaders/matmul/matmul_kernels.h"

namespace vkformer {

/// Candidate "dot": few rows of a, b transposed. Reads b once, row by row.
bool dot_legal(const MatmulProblem& p, const DeviceFacts& facts);
/// What it can take in of the ops before and after: see normed_product.h.
struct DotNeighbours {
  uint64_t gain = 0;  ///< address; 0: a is not to be normed
  float epsilon = 0;
  bool gated = false;
};
void record_dot(Recorder& recorder, const MatmulProblem& p, const MatmulArgs& args, uint32_t activation,
                const DotNeighbours& neighbours = {});

/// Candidate "panels": copies b, and a transposed a, to the node's workspace in panels and multiplies those.
bool panels_legal(const MatmulProblem& p, const DeviceFacts& facts);
int64_t panel_dispatches(const MatmulProblem& p, const DeviceFacts& facts);  ///< copies included
int64_t panel_scratch(const MatmulProblem& p, const DeviceFacts& facts);     ///< bytes
void record_panels(Recorder& recorder, const MatmulProblem& p, const MatmulArgs& args, uint32_t activation);

}  // namespace vkformer
