#pragma once
// Candidate "panels": copies b, and a transposed a, to the node's workspace in panels and multiplies those.

#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

bool panels_legal(const MatmulProblem& p, const DeviceFacts& facts);
/// Whether the copy is worth it.
bool panels_pay(const MatmulProblem& p, const DeviceFacts& facts);
int64_t panel_scratch(const MatmulProblem& p, const DeviceFacts& facts);  ///< bytes
void record_panels(Recorder& recorder, const MatmulWork& work);

}  // namespace vkformer
