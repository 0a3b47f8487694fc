#include "models/training/tree_sum.h"

#include "runtime/check.h"

namespace vkformer {

std::span<float> TreeSum::next() {
  if (nodes_.size() == leaves_.size()) nodes_.emplace_back(elements_);
  return nodes_[leaves_.size()];
}

void TreeSum::add() {
  leaves_.push_back(1);
  while (leaves_.size() > 1 && leaves_.end()[-2] == leaves_.back()) {
    const std::vector<float>& right = nodes_[leaves_.size() - 1];
    std::vector<float>& left = nodes_[leaves_.size() - 2];
    for (size_t i = 0; i < elements_; ++i) left[i] += right[i];
    leaves_.pop_back();
    leaves_.back() *= 2;
  }
}

std::span<float> TreeSum::sum() {
  check(leaves_.size() == 1, "a sum of no power of two of vectors was asked for");
  return nodes_.front();
}

}  // namespace vkformer
