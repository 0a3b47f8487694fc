#pragma once
// Which kernels can compute a matmul node on a device, best first, and how the chosen one is recorded.

#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

/// Op::candidates, Op::room, Op::scratch and Op::record of matmul.
std::vector<std::string_view> matmul_candidates(const Node& node, const DeviceFacts& facts);
KernelRoom matmul_room(std::string_view candidate);
int64_t matmul_scratch(const Node& node, const DeviceFacts& facts, std::string_view candidate);
void record_matmul(Recorder& recorder, const Node& node);

/// Where they are not emulated, matrix cores multiply several times as fast as plain cores (on an H200 five), which win
/// only where a block would be mostly padding. `vkformer tune` alone chooses them where lanes share registers (Intel):
/// others saw such units run from 0.0007 to 20 times as fast as plain cores.
bool matrix_cores_pay(const MatmulProblem& p, const DeviceFacts& facts);

}  // namespace vkformer
