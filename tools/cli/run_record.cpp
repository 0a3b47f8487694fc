#include "tools/cli/run_record.h"

#include <algorithm>

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

void LongCurve::add(CurvePoint point, bool join) {
  const int64_t held = count_++ % span_;  // by the last mean
  last_ = point.value;
  if (held > 0) {
    CurvePoint& mean = points_.back();
    mean.value += (point.value - mean.value) / static_cast<double>(held + 1);
    if (held == span_ / 2) mean.iteration = point.iteration;
    return;
  }
  if (join && points_.size() >= most) {
    for (size_t i = 0; i + 1 < points_.size(); i += 2)
      points_[i / 2] = {points_[i + 1].iteration, (points_[i].value + points_[i + 1].value) / 2};
    points_.resize(points_.size() / 2);
    span_ *= 2;
  }
  points_.push_back(point);
}

void RunRecord::add(const nlohmann::json& line) {
  const auto iteration = line.at("iteration").get<int64_t>();
  iteration_ = std::max(iteration_, iteration);
  for (const auto& [key, value] : line.items())
    if (key != "iteration" && value.is_number() && std::isfinite(value.get<double>()))
      curves_[key].add({iteration, value}, line.contains("loss"));
  if (line.contains("resumed") && (resumed_.empty() || resumed_.back() != iteration)) resumed_.push_back(iteration);
  if (line.contains("samples")) samples_ = line;
}

const Curve& RunRecord::curve(const std::string& name) const {
  static const Curve none;
  const auto found = curves_.find(name);
  return found == curves_.end() ? none : found->second.points();
}

double RunRecord::last(const std::string& name) const {
  const auto found = curves_.find(name);
  return found == curves_.end() ? NAN : found->second.last();
}

std::string RunRecord::page(const nlohmann::json& facts) const {
  constexpr size_t most_points = 1500;  // of a curve: what a screen can show, and the file stays small
  auto curves = nlohmann::json::object();
  for (const auto& [name, curve] : curves_) {
    auto& shown = curves[name] = {{"iterations", nlohmann::json::array()}, {"values", nlohmann::json::array()}};
    for (const CurvePoint& point : smooth(curve.points(), most_points)) {
      shown["iterations"].push_back(point.iteration);
      shown["values"].push_back(point.value);
    }
    shown["points"] = curve.count();
  }
  nlohmann::json data = facts;
  data["curves"] = std::move(curves);
  data["iteration"] = iteration_;
  data["resumed"] = resumed_;
  data["samples"] = samples_;
  return page_with("run", data);
}

}  // namespace vkformer
