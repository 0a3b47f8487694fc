#pragma once
// RUN/best: the model of the evaluation that was the best so far.

#include "runtime/files/checkpoint.h"

namespace vkformer {

class BestCheckpoint {
 public:
  /// Of RUN/best, as an earlier process left it. `metric`: "loss" (less is better), "bleu", "chrf", ... (more is).
  /// Throws Error when that folder is of another metric.
  BestCheckpoint(const std::filesystem::path& run, std::string metric);

  /// Takes an evaluation; the first and each better one are kept: `write` puts the model's files into a folder.
  /// Whether it is the best so far.
  bool take(int64_t iteration, double value, const std::function<void(const std::filesystem::path&)>& write);
  int64_t iteration() const { return iteration_; }  ///< 0: there was none yet
  double value() const { return value_; }
  const std::string& metric() const { return metric_; }

 private:
  CheckpointWriter writer_;
  std::string metric_;
  int64_t iteration_ = 0;
  double value_ = 0;
};

}  // namespace vkformer
