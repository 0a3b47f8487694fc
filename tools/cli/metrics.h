#pragma once
// What a training run leaves for people: metrics.jsonl, one object a line, the loss curve as SVG, and a page with all
// curves.

#include <filesystem>
#include <fstream>

#include "tools/cli/run_record.h"

namespace vkformer {

class Metrics {
 public:
  /// Continues RUN/metrics.jsonl after `iteration`: later lines, which a killed run may have left, are dropped.
  /// Throws Error when a new run (`iteration` 0) finds lines there that are not a run's.
  /// `facts`: see RunRecord::page().
  Metrics(const std::filesystem::path& run, int64_t iteration, nlohmann::json facts);

  /// The run goes on after this iteration.
  void resumed(int64_t iteration);
  void training(int64_t iteration, double loss, double learning_rate, double gradient_norm, double tokens_per_second);
  /// See Evaluation::row. In one line, so that a kill leaves all of it or nothing.
  void evaluation(int64_t iteration, nlohmann::json row);
  /// Forces the lines to the file and draws RUN/loss.svg and RUN/run.html anew.
  void flush();

  const Curve& training_losses() const { return record_.curve("loss"); }
  double last_training_loss() const { return record_.last("loss"); }
  double last_learning_rate() const { return record_.last("learning_rate"); }
  const Curve& validation_losses() const { return record_.curve("validation_loss"); }

 private:
  void append(const nlohmann::json& line);

  std::filesystem::path run_;
  std::ofstream file_;
  nlohmann::json facts_;
  RunRecord record_;
};

}  // namespace vkformer
