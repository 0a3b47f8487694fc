#include "tools/cli/word_score.h"

#include <algorithm>

#include "models/classification/batch_logits.h"
#include "models/families/registry.h"
#include "models/filling/masked_words.h"
#include "models/score/word_accuracy.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

namespace {

/// Of the targets of one batch.
using CountWords = std::function<WordCount(const DataBatch& batch)>;

/// Where words are masked, only their logits are computed.
CountWords count_masked(Backend& backend, const Model& model, Trainer& trainer) {
  const auto words = std::make_shared<MaskedWords>(backend, model, trainer.shared_store(), trainer.workspace());
  return [words](const DataBatch& batch) {
    const std::vector<int32_t>& all = batch.values("targets");
    std::vector<int32_t> places, targets;
    for (size_t at = 0; at < all.size(); ++at) {
      if (all[at] == ignored_target) continue;
      places.push_back(static_cast<int32_t>(at));
      targets.push_back(all[at]);
    }
    return count_right_words(words->likeliest(batch, places), targets);
  };
}

CountWords count_predicted(Backend& backend, const Model& model, Trainer& trainer) {
  const auto logits = std::make_shared<BatchLogits>(backend, model, trainer.shared_store(), trainer.workspace());
  return
      [logits](const DataBatch& batch) { return count_right_words(logits->likeliest(batch), batch.values("targets")); };
}

}  // namespace

JobScores WordScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  const bool masked = predicts_masked_words(model_);
  const CountWords words = (masked ? count_masked : count_predicted)(backend, model_, trainer);
  const int64_t all = data_.validation_batches(), used = whole_split ? all : std::min(all, batches_);
  WordCount count;
  for (int64_t i = 0; i < used; ++i) {
    interrupt_if_asked();
    const WordCount more = words(data_.validation_batch(i, used));
    count.right += more.right;
    count.targets += more.targets;
  }
  const double accuracy = static_cast<double>(count.right) / static_cast<double>(std::max<int64_t>(count.targets, 1));
  return {.values = {{"masked_accuracy", accuracy}},
          .notes = {{"masked_words", count.targets}},
          .text = fmt::format("  {:.2f} % of {} {} words right\n", 100 * accuracy, count.targets,
                              masked ? "masked" : "predicted")};
}

}  // namespace vkformer
