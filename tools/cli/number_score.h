#pragma once
// How good a model in training, whose logits are no classes of which one holds, is at what it is not trained on.

#include <span>

#include "models/data/training_data.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// Of what a model of that kind predicts and what is right, rows of as many numbers. Of several labels micro and macro
/// F1 and the share of rows that are all right; of one, which is how relevant a text is, accuracy and average
/// precision; of numbers mean squared error, Pearson's and Spearman's correlation.
JobScores score_numbers(Task task, std::span<const std::vector<double>> predicted,
                        std::span<const std::vector<double>> right);

class NumberScorer : public JobScorer {
 public:
  /// Of so many labels. `batches`: of an evaluation that is not of the whole split, spread evenly. Model and data must
  /// outlive it.
  NumberScorer(const Model& model, const TrainingData& data, size_t labels, int64_t batches)
      : model_(model), data_(data), labels_(labels), batches_(batches) {}

  std::vector<std::string> metrics() const override;
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const Model& model_;
  const TrainingData& data_;
  size_t labels_;
  int64_t batches_;
};

}  // namespace vkformer
