#pragma once
// Sums in the order of a binary tree.

#include <cstdint>
#include <vector>

namespace vkformer {

/// The sum of vectors that come one after the other: ((0 + 1) + (2 + 3)) + .., as processes that have consecutive ones
/// add them up, see ProcessGroup::add(). Keeps one vector for each level of the tree.
class TreeSum {
 public:
  void add(std::vector<float> values);
  /// Once a power of two of them were added: their sum. It begins anew then.
  std::vector<float> take();

 private:
  struct Node {
    int64_t leaves;
    std::vector<float> sum;
  };
  std::vector<Node> nodes_;  ///< complete subtrees, from the left, each smaller than the one before
};

}  // namespace vkformer
