#pragma once
// How well a model in training answers questions that it is not trained on.

#include "models/classification/answerer.h"
#include "models/data/questions.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// "exact_match" and "f1", 0 to 1, and some samples.
class AnswerScorer : public JobScorer {
 public:
  struct Settings {
    TextInputs inputs;
    int64_t positions = 4096;  ///< of a batch
    size_t questions = 200;    ///< of an evaluation that is not of the whole split, spread evenly
  };
  /// `windows`: of each question. The model must outlive it.
  AnswerScorer(const Model& model, Questions questions, std::vector<std::vector<AnswerWindow>> windows,
               const Settings& settings)
      : model_(model), questions_(std::move(questions)), windows_(std::move(windows)), settings_(settings) {}

  std::vector<std::string> metrics() const override { return {"exact_match", "f1"}; }
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const Model& model_;
  Questions questions_;
  std::vector<std::vector<AnswerWindow>> windows_;
  Settings settings_;
};

}  // namespace vkformer
