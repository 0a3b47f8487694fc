#include "models/families/vision/position_grid.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace vkformer {

namespace {

/// What four neighbours count, of which the second lies `t` before the point (Keys 1981).
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

/// [count, side]: of a row of so many positions.
std::vector<double> weights_along(int64_t side, int64_t count) {
  std::vector<double> weights(static_cast<size_t>(count * side));
  for (int64_t i = 0; i < count; ++i) {
    const double place = static_cast<double>(side) / static_cast<double>(count) * (static_cast<double>(i) + 0.5) - 0.5;
    const auto before = static_cast<int64_t>(std::floor(place));
    const auto four = cubic_weights(place - std::floor(place));
    for (int64_t k = 0; k < 4; ++k)
      weights[static_cast<size_t>(i * side + std::clamp<int64_t>(before - 1 + k, 0, side - 1))] +=
          four[static_cast<size_t>(k)];
  }
  return weights;
}

}  // namespace

std::vector<float> position_weights(int64_t front, int64_t side, int64_t height, int64_t width) {
  const std::vector<double> rows = weights_along(side, height), columns = weights_along(side, width);
  const auto columns_of_table = static_cast<size_t>(front + side * side), sides = static_cast<size_t>(side);
  std::vector<float> weights(static_cast<size_t>(front + height * width) * columns_of_table);
  for (size_t i = 0; i < static_cast<size_t>(front); ++i) weights[i * columns_of_table + i] = 1;
  auto next = weights.begin() + front * static_cast<std::ptrdiff_t>(columns_of_table);
  for (size_t y = 0; y < static_cast<size_t>(height); ++y)
    for (size_t x = 0; x < static_cast<size_t>(width); ++x) {
      next += front;
      for (size_t i = 0; i < sides; ++i)
        for (size_t j = 0; j < sides; ++j) *next++ = static_cast<float>(rows[y * sides + i] * columns[x * sides + j]);
    }
  return weights;
}

}  // namespace vkformer
