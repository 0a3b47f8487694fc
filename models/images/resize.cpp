#include "models/images/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "runtime/check.h"

namespace vkformer {

namespace {

// Sums of 8-bit values by such weights, some of them negative, fit into 32 bits.
constexpr int weight_bits = 22;

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

/// Cubic convolution (Keys, 1981) with a = -1/2.
double cubic(double x) {
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double filter_value(Resample filter, double x) {
  if (filter == Resample::box) return x > -0.5 && x <= 0.5 ? 1 : 0;
  if (filter == Resample::lanczos) return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
  x = std::abs(x);
  if (filter == Resample::bicubic) return cubic(x);
  if (x >= 1) return 0;
  return filter == Resample::bilinear ? 1 - x : sinc(x) * (0.54 + 0.46 * std::cos(std::numbers::pi * x));
}

double reach_of(Resample filter) {
  switch (filter) {
    case Resample::box: return 0.5;
    case Resample::lanczos: return 3;
    case Resample::bicubic: return 2;
    default: return 1;
  }
}

/// What one row or column of the result is made of.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Taps> taps_of(int64_t from, int64_t to, Resample filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), wide = std::max(scale, 1.0);
  const double reach = reach_of(filter) * wide;
  std::vector<Taps> all(static_cast<size_t>(to));
  std::vector<double> values;
  for (size_t place = 0; place < all.size(); ++place) {
    const double centre = (static_cast<double>(place) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5));
    const int64_t end = std::min(from, static_cast<int64_t>(centre + reach + 0.5));
    values.clear();
    double sum = 0;
    for (int64_t at = first; at < end; ++at) {
      values.push_back(filter_value(filter, (static_cast<double>(at) - centre + 0.5) * (1 / wide)));
      sum += values.back();
    }
    all[place].first = first;
    for (const double value : values)
      all[place].weights.push_back(
          static_cast<int32_t>(std::lround((sum == 0 ? value : value / sum) * (1 << weight_bits))));
  }
  return all;
}

/// The sum of pixels that lie `step` bytes apart.
uint8_t weighted(const uint8_t* pixels, int64_t step, const Taps& taps) {
  int32_t sum = 1 << (weight_bits - 1);
  for (const int32_t weight : taps.weights) {
    sum += *pixels * weight;
    pixels += step;
  }
  return static_cast<uint8_t>(std::clamp(sum >> weight_bits, 0, 255));
}

Image resize_rows(const Image& image, int64_t width, Resample filter) {
  Image result{width, image.height, std::vector<uint8_t>(static_cast<size_t>(3 * width * image.height))};
  const std::vector<Taps> taps = taps_of(image.width, width, filter);
  uint8_t* to = result.rgb.data();
  for (int64_t y = 0; y < image.height; ++y)
    for (const Taps& of : taps) {
      const uint8_t* from = image.rgb.data() + 3 * (y * image.width + of.first);
      for (int64_t channel = 0; channel < 3; ++channel) *to++ = weighted(from + channel, 3, of);
    }
  return result;
}

Image resize_columns(const Image& image, int64_t height, Resample filter) {
  Image result{image.width, height, std::vector<uint8_t>(static_cast<size_t>(3 * image.width * height))};
  uint8_t* to = result.rgb.data();
  for (const Taps& of : taps_of(image.height, height, filter)) {
    const uint8_t* from = image.rgb.data() + 3 * image.width * of.first;
    for (int64_t x = 0; x < 3 * image.width; ++x) *to++ = weighted(from + x, 3 * image.width, of);
  }
  return result;
}

/// Where each row or column of the result comes from. PIL adds up its steps, so sums are rounded as there.
std::vector<int64_t> nearest_places(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  std::vector<int64_t> places;
  double at = scale * 0.5;
  for (int64_t i = 0; i < to; ++i, at += scale) places.push_back(std::min(from - 1, static_cast<int64_t>(at)));
  return places;
}

Image resize_nearest(const Image& image, int64_t width, int64_t height) {
  Image result{width, height, {}};
  const std::vector<int64_t> columns = nearest_places(image.width, width);
  for (const int64_t y : nearest_places(image.height, height))
    for (const int64_t x : columns) {
      const uint8_t* pixel = image.rgb.data() + 3 * (y * image.width + x);
      result.rgb.insert(result.rgb.end(), pixel, pixel + 3);
    }
  return result;
}

}  // namespace

Image resize(const Image& image, int64_t width, int64_t height, Resample filter) {
  check(width > 0 && height > 0, "[resize] {} x {} is no size of a picture", width, height);
  check(width <= most_image_pixels / height, "[resize] {} x {} pixels are more than {}; choose a smaller size", width,
        height, most_image_pixels);
  if (filter == Resample::nearest) return resize_nearest(image, width, height);
  const Image* rows = &image;
  Image resized;
  if (width != image.width) {
    check(width <= most_image_pixels / image.height,
          "[resize] from {} x {} to {} x {} pixels is too much in one direction; cut the picture", image.width,
          image.height, width, height);
    resized = resize_rows(image, width, filter);
    rows = &resized;
  }
  if (height != image.height) return resize_columns(*rows, height, filter);
  return *rows;
}

}  // namespace vkformer
