#pragma once
// What the lines of metrics.jsonl say, as curves over iterations, and the page RUN/run.html that shows them.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vkformer {

struct CurvePoint {
  int64_t iteration = 0;
  double value = 0;
};
using Curve = std::vector<CurvePoint>;

/// Means of equal spans of points, so that the curve has at most `points` points.
Curve smooth(const Curve& curve, size_t points);

class RunRecord {
 public:
  /// Takes one line: its finite numbers are points of curves of their names. Diverged ones stand there as null.
  void add(const nlohmann::json& line);

  /// Empty when no line had such a number.
  const Curve& curve(const std::string& name) const;

  /// The page, a document that needs no other file. `facts`: what is known of the run from its beginning on; an object
  /// whose keys pages/run.html lists.
  std::string page(const nlohmann::json& facts) const;

 private:
  std::map<std::string, Curve> curves_;
  std::vector<int64_t> resumed_;      ///< iterations at which the run went on after an interruption
  nlohmann::json samples_ = nullptr;  ///< the last line that had some
};

}  // namespace vkformer
