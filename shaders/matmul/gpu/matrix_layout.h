#pragma once
// How the matmul kernel for matrix cores is laid out on a device.

#include <optional>

#include "runtime/device_facts.h"

namespace vkformer {

/// A workgroup's block of outputs and a subgroup's share of it, as they are where nothing keeps them from it.
struct MatrixTile {
  std::string_view name;  ///< of the candidate
  uint32_t rows, columns;
  uint32_t share_rows, share_columns;
  uint32_t slice;   ///< values of k staged at a time
  uint32_t stages;  ///< slices in shared memory
};
/// Shares of 64 x 64 read 3 bytes of shared memory for 64 operations, those of 32 x 32 twice as many. Larger blocks
/// asked less of the L2 cache of an H200 and were slower: fewer of them stay resident. Blocks of 128 x 64 walk K in
/// slices half as deep: where A is transposed those of 32 took twice as long there.
inline constexpr MatrixTile matrix128{"matrix128", 128, 128, 64, 64, 32, 2},
    matrix128x64{"matrix128x64", 128, 64, 64, 32, 16, 2}, matrix64{"matrix64", 64, 64, 32, 32, 32, 2};

/// How a workgroup's subgroups share a block, and the products they compute at once.
struct MatrixLayout {
  uint32_t subgroup_size;
  uint32_t down, across;  ///< subgroups along the rows and along the columns of the block
  MatrixShape shape;
  uint32_t slice, stages;
  uint32_t invocations() const { return subgroup_size * down * across; }
};

/// Of the products of `type` offered, the largest that divides a subgroup's share of the block. None: the kernel is not
/// legal with this tile. Does not ask whether the device computes right.
///
/// Shares are halved until a lane holds no more sums than registers bear: 128 in subgroups of 32 and more. Where lanes
/// share a thread's registers (Intel), subgroups are as narrow as a product has columns, since such units hold a column
/// a lane and wider subgroups spill hundreds of registers, and a lane holds 16. Elsewhere a slice that leaves
/// invocations without a load is doubled; slices and stages are halved until they fit into shared memory.
/// A subgroup's lanes are whole rows of its share, four columns a lane, so that each finishes the same columns.
std::optional<MatrixLayout> matrix_layout(const MatrixTile& tile, const DeviceFacts& facts, DType type);

}  // namespace vkformer
