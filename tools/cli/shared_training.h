#pragma once
// A training that several processes share. The leading one runs it: it alone decides, prints and writes. The others do
// their part of what takes long whenever it tells them to.

#include <functional>

#include "tools/cli/train_job.h"

namespace vkformer {

/// Trainer::step(), of all processes of the trainer's group. For the leading process, or one that is alone.
double step_of_all(Trainer& trainer, int64_t iteration, const Trainer::BatchSource& batches);

/// The loss on the first `batches` batches of validation, of which each process takes its share; the same bits however
/// many there are. `show` is called after each of this process's, with how many are done. For the leading process, or
/// one that is alone.
MeanLoss validate_with_all(Trainer& trainer, const TrainingData& data, int64_t batches,
                           const std::function<void(int64_t)>& show);

/// JobScorer::score(), of all processes where the scorer is shared. For the leading process, or one that is alone.
JobScores score_with_all(const JobScorer& scorer, Backend& backend, Trainer& trainer, bool whole_split);

/// Held by the leading process: the others are let go at its end.
class Lead {
 public:
  explicit Lead(ProcessGroup& group) : group_(group) {}
  ~Lead();
  Lead(const Lead&) = delete;
  Lead& operator=(const Lead&) = delete;

 private:
  ProcessGroup& group_;
};

/// What the other processes do until they are let go.
void follow(const TrainJob& job, Backend& backend, Trainer& trainer);

}  // namespace vkformer
