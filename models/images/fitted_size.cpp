#include "models/images/fitted_size.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"

namespace vkformer {

namespace {

std::pair<int64_t, int64_t> below_longest(int64_t height, int64_t width, const FitSettings& settings) {
  const double ratio = static_cast<double>(std::max(height, width)) / static_cast<double>(settings.longest);
  const auto reached = [&](int64_t length) {
    const double scaled = ratio > 1 ? std::floor(static_cast<double>(length) / ratio) : static_cast<double>(length);
    return (static_cast<int64_t>(scaled) + settings.factor - 1) / settings.factor * settings.factor;
  };
  const std::pair size(reached(height), reached(width));
  check(size.first > 0 && size.second > 0, "[image] a picture of {} x {} pixels is too thin; cut it", width, height);
  return size;
}

}  // namespace

std::pair<int64_t, int64_t> fitted_size(int64_t height, int64_t width, const FitSettings& settings) {
  if (settings.longest > 0) return below_longest(height, width, settings);
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  const auto factor = static_cast<double>(settings.factor);
  check(std::max(h, w) / std::min(h, w) <= 200,
        "[image] a picture of {} x {} pixels is more than 200 times as long as wide; cut it", width, height);
  const auto nearest = [&](double length) { return static_cast<int64_t>(std::nearbyint(length / factor)); };
  int64_t rows = nearest(h), columns = nearest(w);
  const int64_t pixels = rows * columns * settings.factor * settings.factor;
  if (pixels > settings.most) {
    const double beta = std::sqrt(h * w / static_cast<double>(settings.most));
    const auto down = [&](double length) {
      return std::max<int64_t>(1, static_cast<int64_t>(std::floor(length / beta / factor)));
    };
    rows = down(h), columns = down(w);
  } else if (pixels < settings.least) {
    const double beta = std::sqrt(static_cast<double>(settings.least) / (h * w));
    const auto up = [&](double length) { return static_cast<int64_t>(std::ceil(length * beta / factor)); };
    rows = up(h), columns = up(w);
  }
  check(rows > 0 && columns > 0, "[image] a picture of {} x {} pixels is too thin; make it larger", width, height);
  return {rows * settings.factor, columns * settings.factor};
}

}  // namespace vkformer
