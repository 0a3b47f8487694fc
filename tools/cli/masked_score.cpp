#include "tools/cli/masked_score.h"

#include <algorithm>

#include "models/filling/masked_words.h"

namespace vkformer {

JobScores MaskedScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  MaskedWords words(backend, model_, trainer.shared_store(), trainer.workspace());
  const int64_t all = data_.validation_batches(), used = whole_split ? all : std::min(all, batches_);
  int64_t hidden = 0, right = 0;
  for (int64_t i = 0; i < used; ++i) {
    const DataBatch batch = data_.validation_batch(i, used);
    const std::vector<int32_t>& targets = batch.values("targets");
    std::vector<int32_t> places;
    for (size_t at = 0; at < targets.size(); ++at)
      if (targets[at] != ignored_target) places.push_back(static_cast<int32_t>(at));
    const std::vector<float> logits = words.logits(batch, places);
    const auto vocabulary = static_cast<size_t>(model_.vocabulary);
    for (size_t place = 0; place < places.size(); ++place) {
      const auto row = std::span(logits).subspan(place * vocabulary, vocabulary);
      right += std::ranges::max_element(row) - row.begin() == targets[static_cast<size_t>(places[place])];
    }
    hidden += std::ssize(places);
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(hidden);
  return {.values = {{"masked_accuracy", accuracy}},
          .text = fmt::format("  {:.2f} % of {} masked words right\n", 100 * accuracy, hidden)};
}

}  // namespace vkformer
