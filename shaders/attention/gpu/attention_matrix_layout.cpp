#include "shaders/attention/gpu/attention_matrix_layout.h"

#include <algorithm>

namespace vkformer {

namespace {

/// As attention_matrix.glsl counts them: stages of 16-bit rows and of tiles, strips, all rows padded by 16 bytes;
/// before them, in the same place, the workgroup's own rows.
int64_t shared_bytes(const AttentionMatrixLayout& layout, const AttentionMatrixNeeds& needs,
                     const AttentionProblem& problem) {
  const auto row = [](int64_t width) { return 2 * width + 16; };
  const int64_t strip = int64_t{layout.shape.m} * (4 * layout.block + 16);
  const int64_t stage =
      layout.block * (row(problem.head_width) + row(problem.value_width / layout.parts)) + needs.vector_tiles * strip;
  const int64_t own = layout.rows() * row(std::max(problem.head_width, problem.value_width / layout.parts));
  constexpr int64_t flag = 16;
  return std::max(layout.stages * stage + AttentionMatrixLayout::subgroups * strip, own) + flag;
}

/// 16-byte loads: heads begin at multiples of 8 values.
bool is_whole(const HeadSource& source) { return source.column % 8 == 0 && source.stride % 8 == 0; }

std::optional<AttentionMatrixLayout> layout_of(const MatrixShape& shape, const AttentionMatrixNeeds& needs,
                                               const AttentionProblem& problem, const DeviceFacts& facts) {
  AttentionMatrixLayout layout{
      .subgroup_size = facts.subgroup_size, .shape = shape, .block = needs.block, .stages = 2, .parts = needs.parts};
  const auto divides = [&](int64_t width) { return width % 8 == 0 && width % shape.n == 0 && width % shape.k == 0; };
  if (layout.subgroup_size < 8 || layout.subgroup_size > 64 ||
      layout.invocations() > facts.most_invocations(layout.subgroup_size) || shape.m % 8 || shape.n % 8 ||
      shape.k % 8 || !divides(problem.head_width) || problem.value_width % needs.parts ||
      !divides(problem.value_width / needs.parts))
    return {};
  // The small products are those of a software driver, which would compile whole blocks in straight code for seconds.
  if (shape.k < 16) layout.block = needs.least_block;
  while (shared_bytes(layout, needs, problem) > facts.shared_memory) {
    if (layout.stages > 1) {
      layout.stages = 1;
    } else if (layout.block > needs.least_block) {
      layout.block = needs.least_block;
      layout.stages = 2;
    } else {
      return {};
    }
  }
  // The sums of rows and their origins lie beside each other in a strip; results are stored in four.
  const int64_t widest = std::max(problem.head_width, problem.value_width) / layout.parts;
  if (!divides(layout.block) || layout.block < 2 * shape.n || widest > 4 * int64_t{layout.block}) return {};
  return layout;
}

}  // namespace

std::optional<AttentionMatrixLayout> attention_matrix_layout(const AttentionMatrixNeeds& needs,
                                                             const AttentionProblem& problem,
                                                             const DeviceFacts& facts) {
  if (!facts.full_subgroups || facts.lanes_share_registers() || !is_half(problem.type) || !is_whole(problem.q) ||
      !is_whole(problem.k) || !is_whole(problem.v))
    return {};
  std::optional<AttentionMatrixLayout> best;
  const auto volume = [](const MatrixShape& shape) { return shape.m * shape.n * shape.k; };
  // Small ones count where there are no others (a software driver's): on NVIDIA's nobody has proved these kernels.
  const bool deep = std::ranges::any_of(
      facts.matrix_shapes, [&](const MatrixShape& shape) { return shape.type == problem.type && shape.k >= 16; });
  for (const MatrixShape& shape : facts.matrix_shapes) {
    if (shape.type != problem.type || (deep && shape.k < 16) || (best && volume(shape) <= volume(best->shape)))
      continue;
    if (const auto layout = layout_of(shape, needs, problem, facts)) best = layout;
  }
  return best;
}

}  // namespace vkformer
