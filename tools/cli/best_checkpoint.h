#pragma once
// RUN/best: the model of the evaluation that was the best so far; RUN/good: those of the N best.

#include <memory>
#include <vector>

#include "runtime/files/checkpoint.h"

namespace vkformer {

class BestCheckpoint {
 public:
  using Write = std::function<void(const std::filesystem::path& folder)>;

  /// Of a folder as an earlier process left it. `metric`: "loss" (less is better), "bleu", "chrf", ... (more is).
  /// Throws Error when that folder is of another metric.
  BestCheckpoint(const std::filesystem::path& folder, std::string metric);

  /// Takes an evaluation if it is the first or a better one: `write` puts the model's files into a folder.
  void take(int64_t iteration, double value, const Write& write);
  int64_t iteration() const { return iteration_; }  ///< 0: there was none yet
  double value() const { return value_; }
  const std::string& metric() const { return metric_; }
  /// Whether there is none yet, or a worse one.
  bool is_beaten_by(double value) const;

 private:
  CheckpointWriter writer_;
  std::string metric_;
  int64_t iteration_ = 0;
  double value_ = 0;
};

/// The models of several best evaluations, in RUN/good/1 and so on, in no order.
class BestCheckpoints {
 public:
  /// As BestCheckpoint(), with at most `count` of them.
  BestCheckpoints(const std::filesystem::path& run, const std::string& metric, int64_t count);

  /// Takes an evaluation if it is among the best. One that was taken before, as a resumed run may bring it, is no
  /// other.
  void take(int64_t iteration, double value, const BestCheckpoint::Write& write);
  /// Of those there are.
  std::vector<std::filesystem::path> folders() const;

 private:
  std::filesystem::path folder_;
  std::vector<std::unique_ptr<BestCheckpoint>> places_;
};

}  // namespace vkformer
