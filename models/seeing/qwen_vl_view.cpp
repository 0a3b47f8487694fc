#include <cmath>

#include "models/seeing/qwen_vl.h"

namespace vkformer {

namespace {

/// Where in a table of side x side learned positions a row or column of `count` lies, between two of its places.
struct Between {
  int64_t before = 0, behind = 0;
  float share = 0;  ///< of the one behind
};

Between between(int64_t at, int64_t count, int64_t side) {
  // In f32, as PyTorch's linspace gives it: from the nearer end.
  const float last = static_cast<float>(side - 1);
  const float step = count > 1 ? last / static_cast<float>(count - 1) : 0;
  const float place = at < count / 2 ? step * static_cast<float>(at)
                      : count > 1    ? last - step * static_cast<float>(count - 1 - at)
                                     : 0;
  const auto before = static_cast<int64_t>(place);
  return {before, std::min(before + 1, side - 1), place - static_cast<float>(before)};
}

/// Writes a view patch by patch.
class Writer {
 public:
  Writer(const QwenVision& vision, std::span<const float> pixels, int64_t height, int64_t width)
      : vision_(vision), pixels_(pixels), height_(height), width_(width) {}

  View view() {
    const int64_t block = vision_.merge * vision_.patch, rows = height_ / block, columns = width_ / block;
    const int64_t step = vision_.window > 0 ? vision_.window : 1;
    view_.order.resize(static_cast<size_t>(rows * columns));
    int32_t next = 0;
    for (int64_t top = 0; top < rows; top += step)
      for (int64_t left = 0; left < columns; left += step) {
        ++view_.size;
        for (int64_t y = top; y < top + step; ++y)
          for (int64_t x = left; x < left + step; ++x, ++next) {
            const bool inside = y < rows && x < columns;
            if (inside) view_.order[static_cast<size_t>(y * columns + x)] = next;
            add_position(y, x, inside);
          }
      }
    return std::move(view_);
  }

 private:
  void add_position(int64_t y, int64_t x, bool inside) {
    for (int64_t i = 0; i < vision_.merge; ++i)
      for (int64_t j = 0; j < vision_.merge; ++j) add_patch(y * vision_.merge + i, x * vision_.merge + j, inside);
  }

  void add_patch(int64_t row, int64_t column, bool inside) {
    std::vector<float>&source = view_.floats["source"], &angles = view_.floats["angles"];
    const int64_t width = vision_.head_width();
    if (vision_.window > 0) view_.integers["shown"].push_back(inside);
    if (!inside) {
      source.resize(source.size() + static_cast<size_t>(vision_.columns()), 0);
      angles.resize(angles.size() + static_cast<size_t>(width), 0);
      return;
    }
    for (int64_t channel = 0; channel < 3; ++channel)
      for (int64_t frame = 0; frame < vision_.frames; ++frame)  // of one picture all are alike
        for (int64_t y = 0; y < vision_.patch; ++y) {
          const auto begin = pixels_.begin() + (channel * height_ + row * vision_.patch + y) * width_;
          source.insert(source.end(), begin + column * vision_.patch, begin + (column + 1) * vision_.patch);
        }
    for (const bool sine : {false, true})
      for (const int64_t place : {row, column})
        for (int64_t i = 0; i < width / 4; ++i) {
          const double angle =
              static_cast<double>(place) * std::pow(1e4, -4.0 * static_cast<double>(i) / static_cast<double>(width));
          angles.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
    if (vision_.table_side > 0) add_neighbours(row, column);
  }

  void add_neighbours(int64_t row, int64_t column) {
    const Between y = between(row, height_ / vision_.patch, vision_.table_side);
    const Between x = between(column, width_ / vision_.patch, vision_.table_side);
    for (const auto& [place, share] : {std::pair(y.before, 1 - y.share), std::pair(y.behind, y.share)})
      for (const auto& [other, rest] : {std::pair(x.before, 1 - x.share), std::pair(x.behind, x.share)}) {
        view_.integers["neighbours"].push_back(static_cast<int32_t>(place * vision_.table_side + other));
        view_.floats["weights"].push_back(share * rest);
      }
  }

  const QwenVision& vision_;
  std::span<const float> pixels_;
  int64_t height_, width_;
  View view_;
};

}  // namespace

View qwen_view(const QwenVision& vision, std::span<const float> pixels, int64_t height, int64_t width) {
  return Writer(vision, pixels, height, width).view();
}

}  // namespace vkformer
