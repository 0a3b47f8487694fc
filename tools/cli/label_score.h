#pragma once
// How well a classifier in training tells apart what it is not trained on.

#include "models/data/training_data.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// Accuracy and macro F1, 0 to 1.
class LabelScorer : public JobScorer {
 public:
  /// `names`: of the classes. `batches`: of an evaluation that is not of the whole split, spread evenly. Model and data
  /// must outlive it.
  LabelScorer(const Model& model, const TrainingData& data, std::vector<std::string> names, int64_t batches)
      : model_(model), data_(data), names_(std::move(names)), batches_(batches) {}

  std::vector<std::string> metrics() const override { return {"accuracy", "macro_f1"}; }
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const Model& model_;
  const TrainingData& data_;
  std::vector<std::string> names_;
  int64_t batches_;
};

}  // namespace vkformer
