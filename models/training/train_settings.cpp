#include "models/training/train_settings.h"

#include <cmath>
#include <numbers>

namespace vkformer {

double learning_rate_at(const TrainSettings& s, int64_t iteration) {
  if (iteration <= s.warmup)
    return s.learning_rate * static_cast<double>(iteration) / static_cast<double>(s.warmup + 1);
  if (iteration >= s.iterations) return s.min_learning_rate;
  const double progress = static_cast<double>(iteration - s.warmup) / static_cast<double>(s.iterations - s.warmup);
  return s.min_learning_rate +
         0.5 * (1 + std::cos(std::numbers::pi * progress)) * (s.learning_rate - s.min_learning_rate);
}

std::vector<float> adamw_schedule(const TrainSettings& s, int64_t iteration, double scale) {
  const double t = static_cast<double>(iteration);
  std::vector<float> schedule = {static_cast<float>(learning_rate_at(s, iteration)),
                                 static_cast<float>(1 - std::pow(s.beta1, t)),
                                 static_cast<float>(std::sqrt(1 - std::pow(s.beta2, t)))};
  if (s.scales_loss()) schedule.push_back(static_cast<float>(1 / scale));
  return schedule;
}

}  // namespace vkformer
