#pragma once
// Sums in the order of a binary tree.

#include <cstdint>
#include <span>
#include <vector>

namespace vkformer {

/// Sums of vectors that come one after the other: ((0 + 1) + (2 + 3)) + .., as processes that have consecutive ones
/// add them up, see ProcessGroup::add(). Keeps one vector for each level of the tree, from sum to sum: fresh memory of
/// that size would take longer than the sums.
class TreeSum {
 public:
  explicit TreeSum(size_t elements) : elements_(elements) {}

  /// Begins a sum, whatever became of the last one.
  void begin() { leaves_.clear(); }
  /// Where the next vector is to be written before add() is called.
  std::span<float> next();
  void add();
  /// Once a power of two of them were added; valid until next() is called.
  std::span<float> sum();

 private:
  size_t elements_;
  std::vector<std::vector<float>> nodes_;  ///< complete subtrees, from the left; behind them memory to use again
  std::vector<int64_t> leaves_;            ///< of each subtree, less than of the one before
};

}  // namespace vkformer
