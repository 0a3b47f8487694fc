#include "models/score/word_accuracy.h"

#include <algorithm>

namespace vkformer {

WordCount count_right_words(std::span<const float> logits, std::span<const int32_t> targets) {
  const size_t vocabulary = targets.empty() ? 0 : logits.size() / targets.size();
  WordCount count;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    const auto row = logits.subspan(i * vocabulary, vocabulary);
    count.right += std::ranges::max_element(row) - row.begin() == targets[i];
    ++count.targets;
  }
  return count;
}

}  // namespace vkformer
