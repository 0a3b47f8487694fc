#pragma once
// How the matmul kernel for matrix cores is laid out on a device.

#include <optional>

#include "runtime/device_facts.h"

namespace vkformer {

struct MatrixTile {
  uint32_t side;         ///< outputs along each side of a workgroup's block
  uint32_t invocations;  ///< in subgroups of 32 and more
};
inline constexpr MatrixTile matrix128{128, 256}, matrix64{64, 128};

/// How a workgroup's subgroups share a block, and the products they compute at once.
struct MatrixLayout {
  uint32_t subgroup_size;
  uint32_t down, across;  ///< subgroups along the rows and along the columns of the block
  MatrixShape shape;
  uint32_t invocations() const { return subgroup_size * down * across; }
};

/// Of the products offered, the largest that divides a subgroup's share of the block and fits into shared memory. None:
/// the kernel is not legal with this tile. Does not ask whether the device computes right.
///
/// Where lanes share a thread's registers, subgroups are as narrow as a product has columns: such units hold a column a
/// lane, and wider subgroups spill hundreds of registers (Intel's Xe-HPG and Xe2, by their compiler). For the same
/// reason a lane then holds 16 sums instead of 32 or 64.
std::optional<MatrixLayout> matrix_layout(const MatrixTile& tile, const DeviceFacts& facts);

}  // namespace vkformer
