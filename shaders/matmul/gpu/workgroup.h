#pragma once
// Candidates "matrix_workgroup*": products that a whole workgroup computes together (VK_NV_cooperative_matrix2).

#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

/// A workgroup's block of outputs.
struct WorkgroupTile {
  std::string_view name;  ///< of the candidate
  uint32_t rows, columns;
};
inline constexpr WorkgroupTile workgroup256x128{"matrix_workgroup256x128", 256, 128},
    workgroup128x256{"matrix_workgroup128x256", 128, 256}, workgroup128{"matrix_workgroup128", 128, 128};

/// Whether the device offers such products in blocks of this size, and computes them right, with matrices of results
/// (NVIDIA has none of bf16), and both operands' matrices begin at multiples of 16 bytes.
bool workgroup_legal(const WorkgroupTile& tile, const MatmulProblem& p, const DeviceFacts& facts);
Launch workgroup_launch(const WorkgroupTile& tile, const DeviceFacts& facts, const MatmulWork& work);

}  // namespace vkformer
