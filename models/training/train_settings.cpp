#include "models/training/train_settings.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr std::pair<std::string_view, Schedule> schedules[] = {{"cosine", Schedule::cosine},
                                                               {"linear", Schedule::linear},
                                                               {"inverse-sqrt", Schedule::inverse_sqrt},
                                                               {"noam", Schedule::noam},
                                                               {"constant", Schedule::constant}};

}  // namespace

Schedule schedule_named(std::string_view name) {
  for (const auto& [known, schedule] : schedules)
    if (known == name) return schedule;
  throw UsageError(
      fmt::format("there is no schedule '{}'; cosine, linear, inverse-sqrt, noam, constant", printable(name, 60)));
}

std::string_view name_of(Schedule schedule) {
  return std::ranges::find(schedules, schedule, &std::pair<std::string_view, Schedule>::second)->first;
}

MixedPrecision TrainSettings::precision(const DeviceFacts& facts) const {
  constexpr uint64_t enough = uint64_t{1} << 30;
  return {.products = products,
          .values = is_half(products) && !facts.is_cpu(),
          .whole_rows = !facts.is_cpu(),
          .most_logits = static_cast<int64_t>(std::min({enough, facts.memory_total / 16, facts.max_allocation}))};
}

double learning_rate_at(const TrainSettings& s, int64_t iteration) {
  const auto step = static_cast<double>(iteration), warmup = static_cast<double>(s.warmup);
  if (s.schedule == Schedule::noam || s.schedule == Schedule::inverse_sqrt) {
    const double from = std::max(warmup, 1.0);
    const double peak = s.schedule == Schedule::noam
                            ? s.learning_rate / std::sqrt(static_cast<double>(std::max<int64_t>(s.width, 1)) * from)
                            : s.learning_rate;
    return peak * std::min(step / from, std::sqrt(from / step));
  }
  if (iteration <= s.warmup) return s.learning_rate * step / (warmup + 1);
  if (s.schedule == Schedule::constant) return s.learning_rate;
  if (iteration >= s.iterations) return s.min_learning_rate;
  const double progress = (step - warmup) / (static_cast<double>(s.iterations) - warmup);
  const double share =
      s.schedule == Schedule::linear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return s.min_learning_rate + share * (s.learning_rate - s.min_learning_rate);
}

double average_rate_at(const TrainSettings& settings, int64_t iteration) {
  if (iteration == 1) return 1;
  return std::max(1 - settings.moving_average, 9.0 / static_cast<double>(iteration + 10));
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
