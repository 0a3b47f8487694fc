#pragma once
// What a training run leaves for people: metrics.jsonl, one object a line, and the loss curve as SVG.

#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace vkformer {

struct LossPoint {
  int64_t iteration = 0;
  double loss = 0;
};

class Metrics {
 public:
  /// Continues RUN/metrics.jsonl after `iteration`: later lines, which a killed run may have left, are dropped.
  Metrics(const std::filesystem::path& run, int64_t iteration);

  void training(int64_t iteration, double loss, double learning_rate, double gradient_norm, double tokens_per_second);
  void validation(int64_t iteration, double loss);
  /// Forces the lines to the file and draws RUN/loss.svg anew.
  void flush();

  const std::vector<LossPoint>& training_losses() const { return training_; }
  const std::vector<LossPoint>& validation_losses() const { return validation_; }

 private:
  void append(const nlohmann::json& line);

  std::filesystem::path run_;
  std::ofstream file_;
  std::vector<LossPoint> training_, validation_;
};

/// A chart of both curves, training smoothed, as an SVG document.
std::string loss_curve_svg(const std::vector<LossPoint>& training, const std::vector<LossPoint>& validation);

}  // namespace vkformer
