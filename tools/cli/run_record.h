#pragma once
// What the lines of metrics.jsonl say, as curves over iterations, and the page RUN/run.html that shows them.

#include <cmath>
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

/// A curve in bounded memory, however long the run: beyond `most` points neighbours are joined to their mean.
class LongCurve {
 public:
  static constexpr size_t most = 1 << 15;

  /// Points are joined only if `join`.
  void add(CurvePoint point, bool join);
  const Curve& points() const { return points_; }
  int64_t count() const { return count_; }  ///< of points that were added
  double last() const { return last_; }     ///< the value that was added last

 private:
  Curve points_;      ///< means of `span_` points each; the last one of those that there are
  int64_t span_ = 1;  ///< a power of two
  int64_t count_ = 0;
  double last_ = NAN;
};

/// Means of equal spans of points, so that the curve has at most `points` points.
Curve smooth(const Curve& curve, size_t points);

class RunRecord {
 public:
  /// Takes one line: its finite numbers are points of curves of their names. Diverged ones stand there as null.
  void add(const nlohmann::json& line);

  /// Empty when no line had such a number. The validation's are whole, for what is decided by them.
  const Curve& curve(const std::string& name) const;
  /// The last number of such a curve; NaN when it is empty.
  double last(const std::string& name) const;

  /// The page, a document that needs no other file. `facts`: what is known of the run from its beginning on; an object
  /// whose keys pages/run.html lists.
  std::string page(const nlohmann::json& facts) const;

 private:
  std::map<std::string, LongCurve> curves_;
  int64_t iteration_ = 0;
  std::vector<int64_t> resumed_;      ///< iterations at which the run went on after an interruption
  nlohmann::json samples_ = nullptr;  ///< the last line that had some
};

}  // namespace vkformer
