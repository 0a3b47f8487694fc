#pragma once
// How well a model in training guesses words that it was not shown.

#include "models/data/training_data.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// "masked_accuracy", 0 to 1.
class WordScorer : public JobScorer {
 public:
  /// `batches`: of an evaluation that is not of the whole split, spread evenly. Model and data must outlive it.
  WordScorer(const Model& model, const TrainingData& data, int64_t batches)
      : model_(model), data_(data), batches_(batches) {}

  std::vector<std::string> metrics() const override { return {"masked_accuracy"}; }
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const Model& model_;
  const TrainingData& data_;
  int64_t batches_;
};

}  // namespace vkformer
