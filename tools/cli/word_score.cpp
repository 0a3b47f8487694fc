#include "tools/cli/word_score.h"

#include <algorithm>

#include "models/classification/word_accuracy.h"

namespace vkformer {

JobScores WordScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  BatchLogits logits(backend, model_, trainer.shared_store(), trainer.workspace());
  const int64_t all = data_.validation_batches(), used = whole_split ? all : std::min(all, batches_);
  WordCount count;
  for (int64_t i = 0; i < used; ++i) {
    const WordCount more = count_right_words(logits, data_.validation_batch(i, used));
    count.right += more.right;
    count.targets += more.targets;
  }
  const double accuracy = static_cast<double>(count.right) / static_cast<double>(std::max<int64_t>(count.targets, 1));
  return {.values = {{"masked_accuracy", accuracy}},
          .notes = {{"masked_words", count.targets}},
          .text = fmt::format("  {:.2f} % of {} masked words right\n", 100 * accuracy, count.targets)};
}

}  // namespace vkformer
