#pragma once
// Which kernels can compute a matmul node on a device, best first, and how the chosen one is recorded.

#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

/// Op::candidates, Op::room, Op::scratch and Op::record of matmul.
std::vector<std::string_view> matmul_candidates(const Node& node, const DeviceFacts& facts);
KernelRoom matmul_room(std::string_view candidate);
int64_t matmul_scratch(const Node& node, const DeviceFacts& facts, std::string_view candidate);
void record_matmul(Recorder& recorder, const Node& node);

}  // namespace vkformer
