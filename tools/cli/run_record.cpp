#include "tools/cli/run_record.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/page.h"

namespace vkformer {

Curve smooth(const Curve& curve, size_t points) {
  const size_t span = (curve.size() + points - 1) / std::max<size_t>(points, 1);
  Curve means;
  for (size_t i = 0; i < curve.size(); i += span) {
    const size_t end = std::min(i + span, curve.size());
    double sum = 0;
    for (size_t k = i; k < end; ++k) sum += curve[k].value;
    means.push_back({curve[(i + end - 1) / 2].iteration, sum / static_cast<double>(end - i)});
  }
  return means;
}

void RunRecord::add(const nlohmann::json& line) {
  const auto iteration = line.at("iteration").get<int64_t>();
  for (const auto& [key, value] : line.items())
    if (key != "iteration" && value.is_number() && std::isfinite(value.get<double>()))
      curves_[key].push_back({iteration, value});
  if (line.contains("resumed") && (resumed_.empty() || resumed_.back() != iteration)) resumed_.push_back(iteration);
  if (line.contains("samples")) samples_ = line;
}

const Curve& RunRecord::curve(const std::string& name) const {
  static const Curve none;
  const auto found = curves_.find(name);
  return found == curves_.end() ? none : found->second;
}

std::string RunRecord::page(const nlohmann::json& facts) const {
  constexpr size_t most_points = 1500;  // of a curve: what a screen can show, and the file stays small
  auto curves = nlohmann::json::object();
  int64_t iteration = 0;
  for (const auto& [name, curve] : curves_) {
    auto& shown = curves[name] = {{"iterations", nlohmann::json::array()}, {"values", nlohmann::json::array()}};
    for (const CurvePoint& point : smooth(curve, most_points)) {
      shown["iterations"].push_back(point.iteration);
      shown["values"].push_back(point.value);
    }
    shown["points"] = curve.size();
    if (!curve.empty()) iteration = std::max(iteration, curve.back().iteration);
  }
  nlohmann::json data = facts;
  data["curves"] = std::move(curves);
  data["iteration"] = iteration;
  data["resumed"] = resumed_;
  data["samples"] = samples_;
  return page_with("run", data);
}

}  // namespace vkformer
