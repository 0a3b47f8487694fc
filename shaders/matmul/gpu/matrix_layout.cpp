#include "shaders/matmul/gpu/matrix_layout.h"

namespace vkformer {

namespace {

/// Values of k that the kernel stages at a time.
constexpr uint32_t slice = 32;

bool fits(const MatrixTile& tile, const MatrixLayout& layout, const DeviceFacts& facts) {
  const MatrixShape& shape = layout.shape;
  // Both staged slices of 16-bit values, rows padded by 8, and a tile of f32 results for each subgroup.
  const uint32_t slices = 2 * 2 * tile.side * (slice + 8);
  const uint32_t results = 4 * layout.down * layout.across * shape.m * shape.n;
  return shape.m >= 4 && shape.n >= 4 && shape.k >= 4 && tile.side / layout.down % shape.m == 0 &&
         tile.side / layout.across % shape.n == 0 && slice % shape.k == 0 && slices + results <= facts.shared_memory;
}

}  // namespace

std::optional<MatrixLayout> matrix_layout(const MatrixTile& tile, const DeviceFacts& facts) {
  if (!facts.full_subgroups) return {};
  std::optional<MatrixLayout> best;
  const auto volume = [](const MatrixShape& shape) { return shape.m * shape.n * shape.k; };
  for (const MatrixShape& shape : facts.matrix_shapes) {
    if (shape.type != DType::f16) continue;
    const bool narrow = facts.lanes_share_registers() && shape.n >= facts.min_subgroup_size;
    const uint32_t lanes = narrow ? shape.n : facts.subgroup_size;
    const uint32_t invocations = narrow ? tile.side * tile.side / 16 : tile.invocations;
    if (lanes < 8 || lanes > 64 || invocations > facts.max_workgroup_size) continue;
    const uint32_t subgroups = invocations / lanes;
    uint32_t down = 1;
    while (down * down < subgroups) down *= 2;
    const MatrixLayout layout{lanes, down, subgroups / down, shape};
    if (fits(tile, layout, facts) && (!best || volume(shape) > volume(best->shape))) best = layout;
  }
  return best;
}

}  // namespace vkformer
