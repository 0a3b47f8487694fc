#pragma once
// How a model in training tells preferred texts from others, beside what it began as.

#include "models/data/preference_data.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// "accuracy", "margin", "chosen_reward", "rejected_reward": the rewards that the loss compares, but for SimPO's
/// margin.
class PreferenceScorer : public JobScorer {
 public:
  /// The data, whose reference is set by then, must outlive it. `batches`: of an evaluation that is not of the whole
  /// split.
  PreferenceScorer(const PreferenceData& data, const Preference& preference, int64_t batches)
      : data_(data), preference_(preference), batches_(batches) {}

  std::vector<std::string> metrics() const override { return {"accuracy", "margin"}; }
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const PreferenceData& data_;
  Preference preference_;
  int64_t batches_;
};

}  // namespace vkformer
