#include "tools/cli/best_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

BestCheckpoint::BestCheckpoint(const std::filesystem::path& folder, std::string metric)
    : writer_(folder), metric_(std::move(metric)) {
  const auto latest = latest_checkpoint(folder);
  if (!latest) return;
  const JsonObject json = JsonObject::load(*latest / "best.json");
  const std::string before = require_string(json, "metric");
  check(before == metric_, "{} is the best by {}, not by {}; remove it or keep to that", latest->generic_string(),
        before, metric_);
  iteration_ = require_integer(json, "iteration", 1, int64_t{1} << 31);
  check(std::filesystem::exists(*latest / "model.safetensors") ||
            std::filesystem::exists(*latest / "adapter_model.safetensors"),
        "{} has lost its weights; remove {}, and the best is looked for anew", latest->generic_string(),
        folder.generic_string());
  value_ = require_number(json, "value", -1e300, 1e300);
}

bool BestCheckpoint::is_beaten_by(double value) const {
  return std::isfinite(value) && (iteration_ == 0 || (metric_ == "loss" ? value < value_ : value > value_));
}

void BestCheckpoint::take(int64_t iteration, double value, const Write& write) {
  if (!is_beaten_by(value)) return;
  writer_.commit(iteration, [&](const std::filesystem::path& folder) {
    write(folder);
    write_json(folder / "best.json", {{"iteration", iteration}, {"metric", metric_}, {"value", value}});
  });
  iteration_ = iteration;
  value_ = value;
}

BestCheckpoints::BestCheckpoints(const std::filesystem::path& run, const std::string& metric, int64_t count)
    : folder_(run / "good") {
  for (int64_t i = 1; i <= count; ++i)
    places_.push_back(std::make_unique<BestCheckpoint>(folder_ / std::to_string(i), metric));
}

void BestCheckpoints::take(int64_t iteration, double value, const BestCheckpoint::Write& write) {
  const auto is_same = [&](const auto& place) { return place->iteration() == iteration; };
  if (std::ranges::any_of(places_, is_same)) return;
  const auto worst = std::ranges::min_element(places_, [](const auto& a, const auto& b) {
    return a->iteration() == 0 || (b->iteration() != 0 && a->is_beaten_by(b->value()));
  });
  (*worst)->take(iteration, value, write);
}

std::vector<std::filesystem::path> BestCheckpoints::folders() const {
  std::vector<std::filesystem::path> folders;
  for (size_t i = 0; i < places_.size(); ++i)
    if (const auto latest = latest_checkpoint(folder_ / std::to_string(i + 1))) folders.push_back(*latest);
  return folders;
}

}  // namespace vkformer
