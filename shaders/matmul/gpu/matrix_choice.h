#pragma once
// In which blocks a product is computed on matrix cores, and in how many ranges of K.

#include "shaders/matmul/matmul_kernel.h"

namespace vkformer {

/// Ranges of K start at multiples of it: whole slices of every kernel, of matmul_workgroup.comp, too.
inline constexpr int64_t matrix_range_step = 64;

/// Blocks of outputs that workgroups compute, and how fast they are.
struct MatrixBlocks {
  std::string_view name;  ///< of the candidate that computes all of K at once
  uint32_t rows, columns;
  /// TFLOP/s of an H200 without and with a transposed A, where every core has as many blocks: of the products in
  /// docs/benchmarks.md, each measured rate times the waves that its blocks take over those that they fill.
  double upright, transposed;
  bool (*legal)(const MatmulProblem&, const DeviceFacts&);
  bool cut;  ///< whether there is a kernel that computes ranges of K, too
};

/// Whether ranges of K may be worth a try. With more blocks than a few for each core they add none that is missing,
/// only their sums, which are written, kept and added: gigabytes for the head of a large vocabulary.
bool may_be_cut(const MatmulProblem& p, const DeviceFacts& facts, int64_t rows, int64_t columns);

/// The ranges, two or more, that a product which may be cut takes the least time in.
SplitRanges matrix_ranges(const MatrixBlocks& blocks, const MatmulProblem& p, const DeviceFacts& facts);

/// Of these blocks, whole or cut, the legal ones that should take the least time.
struct MatrixChoice {
  const MatrixBlocks* blocks = nullptr;  ///< nullptr: none is legal
  bool cut = false;
};
MatrixChoice choose_blocks(std::span<const MatrixBlocks> all, const MatmulProblem& p, const DeviceFacts& facts);

}  // namespace vkformer
