#include "models/score/word_accuracy.h"

namespace vkformer {

WordCount count_right_words(std::span<const int32_t> guesses, std::span<const int32_t> targets) {
  WordCount count;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    count.right += guesses[i] == targets[i];
    ++count.targets;
  }
  return count;
}

}  // namespace vkformer
