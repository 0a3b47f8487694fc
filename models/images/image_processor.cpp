#include "models/images/image_processor.h"

#include <algorithm>

#include "models/images/image_settings.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

/// Rounded down, also below zero.
int64_t floor_half(int64_t value) { return (value - (value < 0 ? 1 : 0)) / 2; }

}  // namespace

ImageProcessor::ImageProcessor(const ImageSettings& settings, const std::string& name) : settings_(settings) {
  if (settings.tiles) settings_.size = {settings.tiles->edge, settings.tiles->edge};
  if (settings.fit) return;
  check(settings_.crop.has_value() || settings_.size.has_value(),
        "{}: pictures stay of different sizes, but a size of {{\"height\", \"width\"}} or do_center_crop is needed",
        name);
  out_ = settings_.crop ? *settings_.crop : *settings_.size;
}

ImageProcessor ImageProcessor::from_folder(const std::filesystem::path& folder) {
  std::string name;
  const ImageSettings settings = load_image_settings(folder, &name);
  return {settings, name};
}

ImageProcessor ImageProcessor::from_json(const JsonObject& processor) {
  return {image_settings_of(processor), processor.name()};
}

Image ImageProcessor::resized(const Image& image) const {
  if (settings_.fit) {
    const auto [height, width] = fitted_size(image.height, image.width, *settings_.fit);
    return resize(image, width, height, settings_.resample);
  }
  if (settings_.shortest_edge) {
    const int64_t edge = *settings_.shortest_edge, shorter = std::min(image.width, image.height);
    // As Python does it: the product is whole, the quotient a double.
    const auto scaled = [&](int64_t length) {
      return length == shorter
                 ? edge
                 : static_cast<int64_t>(static_cast<double>(edge * length) / static_cast<double>(shorter));
    };
    return resize(image, scaled(image.width), scaled(image.height), settings_.resample);
  }
  if (settings_.size) return resize(image, settings_.size->width, settings_.size->height, settings_.resample);
  return image;
}

ImageProcessor::Views ImageProcessor::views(const Image& image) const {
  if (!settings_.tiles) {
    const Image whole = resized(image);
    const bool own_size = out_.height == 0;
    return {.pixels = {values_of(whole)},
            .height = own_size ? whole.height : out_.height,
            .width = own_size ? whole.width : out_.width};
  }
  const TiledImage tiled = tiles_of(image, *settings_.tiles, settings_.resample);
  Views views{.rows = tiled.rows, .columns = tiled.columns, .height = out_.height, .width = out_.width};
  for (const Image& tile : tiled.tiles) views.pixels.push_back(pixels(tile));
  return views;
}

std::vector<float> ImageProcessor::values_of(const Image& whole) const {
  const ImageSettings::Size out = out_.height > 0 ? out_ : ImageSettings::Size{whole.height, whole.width};
  check(settings_.crop || (whole.width == out.width && whole.height == out.height),
        "[image] the picture has {} x {} pixels, but the model wants {} x {} and its settings don't resize: resize it",
        whole.width, whole.height, out.width, out.height);
  // Each of 256 values a channel, computed in the types that transformers has.
  std::array<std::array<float, 256>, 3> values = {};
  for (size_t channel = 0; channel < 3; ++channel)
    for (size_t value = 0; value < 256; ++value) {
      float& result = values[channel][value];
      result = static_cast<float>(static_cast<double>(value) * settings_.rescale.value_or(1));
      if (settings_.mean) result = (result - (*settings_.mean)[channel]) / (*settings_.deviation)[channel];
    }
  const int64_t top = floor_half(whole.height - out.height), left = floor_half(whole.width - out.width);
  std::vector<float> result;
  result.reserve(static_cast<size_t>(3 * out.height * out.width));
  for (size_t channel = 0; channel < 3; ++channel)
    for (int64_t y = top; y < top + out.height; ++y)
      for (int64_t x = left; x < left + out.width; ++x) {
        const bool inside = y >= 0 && y < whole.height && x >= 0 && x < whole.width;
        const size_t value = inside ? whole.rgb[static_cast<size_t>(3 * (y * whole.width + x)) + channel] : 0;
        result.push_back(values[channel][value]);
      }
  return result;
}

}  // namespace vkformer
