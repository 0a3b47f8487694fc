#pragma once
// Candidates "matrix_workgroup*": products that a whole workgroup computes together (VK_NV_cooperative_matrix2).

#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

/// A workgroup's block of outputs.
struct WorkgroupTile {
  std::string_view name;  ///< of the candidate
  uint32_t rows, columns;
  uint32_t invocations;
  /// Values of k that are loaded at a time: of 16, 32, 64 and 128 best on an H200, as on an RTX 4090.
  static constexpr uint32_t slice = 64;
};
/// On an H200 four subgroups are fastest (8192^3: 335 TFLOP/s, eight 240); blocks of 256 x 128 reach less than half.
inline constexpr WorkgroupTile workgroup128{"matrix_workgroup128", 128, 128, 256},
    workgroup128_4{"matrix_workgroup128_4", 128, 128, 128}, workgroup128x64_4{"matrix_workgroup128x64_4", 128, 64, 128};

/// Whether blocks and slices end with the product.
inline bool is_whole(const WorkgroupTile& tile, const MatmulProblem& p) {
  return p.m % tile.rows == 0 && p.n % tile.columns == 0 && p.k % tile.slice == 0;
}

/// Whether the device offers such products in blocks of this size, and computes them right, with matrices of results
/// (NVIDIA has none of bf16), and both operands' matrices begin at multiples of 16 bytes.
bool workgroup_legal(const WorkgroupTile& tile, const MatmulProblem& p, const DeviceFacts& facts);
Launch workgroup_launch(const WorkgroupTile& tile, const DeviceFacts& facts, const MatmulWork& work);

}  // namespace vkformer
