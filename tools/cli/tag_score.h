#pragma once
// How well a tagger in training tags words that it is not trained on.

#include "models/data/training_data.h"
#include "models/score/tags.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// "accuracy 93.10 %", and where there are entities their precision, recall and F1.
std::string scores_text(const TagScores& scores, bool entities);

/// "accuracy" and, where tags mark entities, "entity_precision", "entity_recall" and "entity_f1", 0 to 1.
class TagScorer : public JobScorer {
 public:
  /// `names`: of the classes. `batches`: of an evaluation that is not of the whole split, spread evenly. Model and data
  /// must outlive it.
  TagScorer(const Model& model, const TrainingData& data, std::vector<std::string> names, int64_t batches)
      : model_(model), data_(data), names_(std::move(names)), batches_(batches) {}

  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const Model& model_;
  const TrainingData& data_;
  std::vector<std::string> names_;
  int64_t batches_;
};

}  // namespace vkformer
