#include "shaders/matmul/gpu/matrix_choice.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vkformer {

namespace {

// Times are in multiply-adds of one core at this rate of all of them.
constexpr double usual_rate = 200;
/// What it costs to write and read a partial sum: 8 bytes at some 3 TB/s of an H200's L2 cache.
constexpr double partial_sum = 256;
/// What it costs a core to wait for a dispatch: 3 us.
constexpr double dispatch = 2.25e6;
/// A block that has a core to itself waits for its loads with nothing to do meanwhile.
constexpr double alone = 1.25;
/// What ranges of K must promise: of two products that an H200 computed both ways one took 0.91 of the time instead of
/// the promised 0.89, the other 1.24 instead of 0.97.
constexpr double gain = 1.1;

constexpr int64_t most_ranges = 16, least_length = 128;

/// Blocks run in waves of one a core.
double time_of(const MatrixBlocks& blocks, const MatmulProblem& p, const SplitRanges& ranges, double cores) {
  const auto count = static_cast<double>(tile_count(p, blocks.rows, blocks.columns) * ranges.count);
  const double waves = std::max(std::ceil(count / cores), alone);
  const double work = static_cast<double>(blocks.rows * blocks.columns * ranges.length);
  const double time = waves * work * usual_rate / (p.transpose_a ? blocks.transposed : blocks.upright);
  if (ranges.count == 1) return time;
  return time + partial_sum * static_cast<double>(ranges.count * p.batch * p.m * p.n) / cores + dispatch;
}

}  // namespace

bool may_be_cut(const MatmulProblem& p, const DeviceFacts& facts, int64_t rows, int64_t columns) {
  return p.k > matrix_range_step && tile_count(p, rows, columns) <= 4 * facts.usual_cores();
}

SplitRanges matrix_ranges(const MatrixBlocks& blocks, const MatmulProblem& p, const DeviceFacts& facts) {
  const auto cores = static_cast<double>(facts.usual_cores());
  SplitRanges best = even_ranges(p.k, 2, matrix_range_step);
  for (int64_t count = 3; count <= std::min(most_ranges, p.k / least_length); ++count) {
    const SplitRanges ranges = even_ranges(p.k, count, matrix_range_step);
    if (time_of(blocks, p, ranges, cores) < time_of(blocks, p, best, cores)) best = ranges;
  }
  return best;
}

MatrixChoice choose_blocks(std::span<const MatrixBlocks> all, const MatmulProblem& p, const DeviceFacts& facts) {
  struct Option {
    MatrixChoice choice;
    double time;
  };
  const auto cores = static_cast<double>(facts.usual_cores());
  std::vector<Option> options;
  for (const MatrixBlocks& blocks : all) {
    options.push_back({{&blocks, false}, time_of(blocks, p, {.count = 1, .length = p.k}, cores)});
    if (blocks.cut && may_be_cut(p, facts, blocks.rows, blocks.columns))
      options.push_back({{&blocks, true}, gain * time_of(blocks, p, matrix_ranges(blocks, p, facts), cores)});
  }
  std::ranges::stable_sort(options, {}, &Option::time);
  // In this order: that a kernel is legal may take a check on the device.
  const auto best = std::ranges::find_if(options, [&](const Option& option) {
    return option.choice.blocks->legal(option.choice.cut ? sums_of(p) : p, facts);
  });
  return best == options.end() ? MatrixChoice{} : best->choice;
}

}  // namespace vkformer
