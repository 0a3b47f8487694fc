#include "models/classification/word_accuracy.h"

#include <algorithm>

namespace vkformer {

WordCount count_right_words(BatchLogits& logits, const DataBatch& batch) {
  WordCount count;
  const std::vector<float> all = logits.of(batch);
  const std::vector<int32_t>& targets = batch.values("targets");
  const size_t words = all.size() / targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == ignored_target) continue;
    const auto row = std::span(all).subspan(i * words, words);
    count.right += std::ranges::max_element(row) - row.begin() == targets[i];
    ++count.targets;
  }
  return count;
}

}  // namespace vkformer
