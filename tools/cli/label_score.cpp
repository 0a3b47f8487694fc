#include "tools/cli/label_score.h"

#include <algorithm>

#include "models/classification/classifier.h"
#include "models/score/labels.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

JobScores LabelScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  Classifier classifier(backend, model_, trainer.shared_store(), trainer.workspace());
  const int64_t all = data_.validation_batches(), used = whole_split ? all : std::min(all, batches_);
  std::vector<std::string> references, hypotheses;
  for (int64_t i = 0; i < used; ++i) {
    interrupt_if_asked();
    const DataBatch batch = data_.validation_batch(i, used);
    const std::vector<int32_t>& targets = batch.values("targets");
    const auto rows = classifier.probabilities(batch);
    for (size_t row = 0; row < rows.size(); ++row) {
      if (targets[row] == ignored_target) continue;
      references.push_back(names_[static_cast<size_t>(targets[row])]);
      hypotheses.push_back(names_[static_cast<size_t>(std::ranges::max_element(rows[row]) - rows[row].begin())]);
    }
  }
  const LabelScores scores = score_labels(references, hypotheses);
  return {.values = {{"accuracy", scores.accuracy}, {"macro_f1", scores.macro_f1}},
          .notes = {{"rows", references.size()}},
          .text = fmt::format("  accuracy {:.2f} %, macro F1 {:.4f} of {} rows\n", 100 * scores.accuracy,
                              scores.macro_f1, references.size())};
}

}  // namespace vkformer
