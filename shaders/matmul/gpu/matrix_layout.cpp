#include "shaders/matmul/gpu/matrix_layout.h"

#include <algorithm>

namespace vkformer {

namespace {

/// In a subgroup's share: what the kernel's code has strips for.
constexpr uint32_t most_tiles_down = 8;

/// Both operands' staged slices of 16-bit values, in the layout that takes more, and after them, in the same place, a
/// strip of f32 sums of each subgroup. Rows are padded by 16 bytes. Experts also have the place of each row.
uint32_t shared_bytes(const MatrixTile& tile, const MatrixLayout& layout) {
  const uint32_t slices = 2 * layout.stages * (tile.rows + tile.columns) * (layout.slice + 8);
  const uint32_t strip = 4 * layout.shape.m * (tile.columns / layout.across + 4);
  return std::max(slices, layout.down * layout.across * strip) + 4 * tile.rows;
}

/// The layout with products of this shape in subgroups of so many lanes, each of which holds at most so many sums.
std::optional<MatrixLayout> layout_of(const MatrixTile& tile, const MatrixShape& shape, uint32_t lanes, uint32_t sums,
                                      const DeviceFacts& facts) {
  uint32_t rows = tile.share_rows, columns = tile.share_columns;
  while (rows * columns / lanes > sums) (rows > columns ? rows : columns) /= 2;
  if (shape.m % 8 || shape.n % 8 || shape.k % 8 || rows % shape.m || columns % shape.n) return {};
  if (rows / shape.m > most_tiles_down || lanes % (columns / 4) != 0) return {};  // lanes are whole rows of a strip
  MatrixLayout layout{lanes, tile.rows / rows, tile.columns / columns, shape, tile.slice, tile.stages};
  if (layout.invocations() > facts.most_invocations(lanes)) return {};
  const auto divides = [&](uint32_t side) { return side * layout.slice / 8 % layout.invocations() == 0; };
  const auto loads_whole = [&] { return divides(tile.rows) && divides(tile.columns); };
  if (!loads_whole() && !facts.lanes_share_registers()) layout.slice *= 2;
  while (shared_bytes(tile, layout) > facts.shared_memory) {
    if (layout.stages == 1 && layout.slice == 8) return {};
    (layout.stages > 1 ? layout.stages : layout.slice) /= 2;
  }
  if (layout.slice % shape.k || !loads_whole()) return {};
  return layout;
}

}  // namespace

std::optional<MatrixLayout> matrix_layout(const MatrixTile& tile, const DeviceFacts& facts, DType type) {
  if (!facts.full_subgroups) return {};
  std::optional<MatrixLayout> best;
  const auto volume = [](const MatrixShape& shape) { return shape.m * shape.n * shape.k; };
  for (const MatrixShape& shape : facts.matrix_shapes) {
    if (shape.type != type) continue;
    const bool narrow = facts.lanes_share_registers() && shape.n >= facts.min_subgroup_size;
    const uint32_t lanes = narrow ? shape.n : facts.subgroup_size;
    if (lanes < 8 || lanes > 64) continue;
    const auto layout = layout_of(tile, shape, lanes, narrow ? 16 : lanes < 32 ? 32 : 128, facts);
    if (layout && (!best || volume(shape) > volume(best->shape))) best = layout;
  }
  return best;
}

}  // namespace vkformer
