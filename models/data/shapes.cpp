#include "models/data/shapes.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "models/data/draws.h"

namespace vkformer {

namespace {

constexpr uint32_t shape_stream = 17;  ///< what a picture shows
constexpr uint32_t noise_stream = 18;

/// Whether it covers the place that lies (x, y) from its middle, y downwards; none is wider than 2 r + 1.
bool covers(size_t shape, int64_t x, int64_t y, int64_t r) {
  const int64_t across = std::max(std::abs(x), std::abs(y));
  switch (shape) {
    case 0: return x * x + y * y <= r * r;
    case 1: return across <= r && std::min(std::abs(x), std::abs(y)) <= r / 4;
    case 2: return across <= r * 7 / 8;
    default: return std::abs(y) <= r && 2 * std::abs(x) <= y + r;
  }
}

using Colour = std::array<int64_t, 3>;

}  // namespace

ShapePicture draw_shape(uint32_t seed, uint64_t example) {
  constexpr int64_t least = 5, most = 11, noise = 24;
  Draws draws(seed, shape_stream, example), specks(seed, noise_stream, example);
  ShapePicture picture{.image = {.width = shape_pixels, .height = shape_pixels, .rgb = {}}};
  picture.shape = static_cast<size_t>(draws.below(std::ssize(shape_names)));
  const int64_t r = least + draws.below(most - least);
  const auto middle = [&] { return r + 1 + draws.below(shape_pixels - 2 * r - 2); };
  const int64_t left = middle(), top = middle();
  Colour ground{}, bright{};
  for (int64_t& channel : ground) channel = draws.below(96);
  for (int64_t& channel : bright) channel = draws.below(256);
  bright[static_cast<size_t>(draws.below(3))] = 255;  // one channel at least tells it from the ground
  for (int64_t y = 0; y < shape_pixels; ++y)
    for (int64_t x = 0; x < shape_pixels; ++x)
      for (const int64_t channel : covers(picture.shape, x - left, y - top, r) ? bright : ground) {
        const int64_t value = channel + specks.below(2 * noise + 1) - noise;
        picture.image.rgb.push_back(static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255)));
      }
  return picture;
}

}  // namespace vkformer
