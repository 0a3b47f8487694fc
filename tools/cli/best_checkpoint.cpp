#include "tools/cli/best_checkpoint.h"

#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

BestCheckpoint::BestCheckpoint(const std::filesystem::path& run, std::string metric)
    : writer_(run / "best"), metric_(std::move(metric)) {
  const auto latest = latest_checkpoint(run / "best");
  if (!latest) return;
  const JsonObject json = JsonObject::load(*latest / "best.json");
  const std::string before = require_string(json, "metric");
  check(before == metric_, "{} is the best by {}, not by {}; remove it or keep to that", latest->string(), before,
        metric_);
  iteration_ = require_integer(json, "iteration", 1, int64_t{1} << 31);
  value_ = require_number(json, "value", -1e300, 1e300);
}

bool BestCheckpoint::take(int64_t iteration, double value,
                          const std::function<void(const std::filesystem::path&)>& write) {
  const bool better = metric_ == "loss" ? value < value_ : value > value_;
  if (iteration_ > 0 && !better) return false;
  writer_.commit(iteration, [&](const std::filesystem::path& folder) {
    write(folder);
    write_json(folder / "best.json", {{"iteration", iteration}, {"metric", metric_}, {"value", value}});
  });
  iteration_ = iteration;
  value_ = value;
  return true;
}

}  // namespace vkformer
