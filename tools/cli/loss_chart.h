#pragma once
// The losses of a run as a picture.

#include <string>
#include <vector>

#include "tools/cli/run_record.h"

namespace vkformer {

/// About `most` round numbers (1, 2 or 5 times a power of ten apart) that enclose or lie between `low` and `high`:
/// the first is at most `low`, the last at least `high`.
std::vector<double> round_ticks(double low, double high, int most);

/// The mean of each point and its neighbours, `span` points in all at most: never fewer before it than behind it, and
/// as many on both sides but for the last points.
Curve running_mean(const Curve& curve, size_t span);

/// A chart with a title: the training loss as it was and smoothed, the validation loss, each with its last value. An
/// SVG document.
std::string loss_chart(const std::string& title, const Curve& training, const Curve& validation);

}  // namespace vkformer
