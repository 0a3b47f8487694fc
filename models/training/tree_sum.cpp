#include "models/training/tree_sum.h"

#include "runtime/check.h"

namespace vkformer {

void TreeSum::add(std::vector<float> values) {
  nodes_.push_back({1, std::move(values)});
  while (nodes_.size() > 1 && nodes_.end()[-2].leaves == nodes_.back().leaves) {
    Node right = std::move(nodes_.back());
    nodes_.pop_back();
    Node& left = nodes_.back();
    for (size_t i = 0; i < left.sum.size(); ++i) left.sum[i] += right.sum[i];
    left.leaves += right.leaves;
  }
}

std::vector<float> TreeSum::take() {
  check(nodes_.size() == 1, "a sum of no power of two of vectors was asked for");
  std::vector<float> sum = std::move(nodes_.front().sum);
  nodes_.clear();
  return sum;
}

}  // namespace vkformer
