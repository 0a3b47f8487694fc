#include "models/images/tiles.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr int64_t most_tiled_edge = 4096;
constexpr int64_t most_tiles = 1024;

struct Size {
  int64_t height = 0, width = 0;
};

/// The longer of both edges becomes `edge`, the other keeps the ratio, rounded down as in Python.
Size with_longer_edge(const Size& size, int64_t edge) {
  const double ratio = static_cast<double>(size.width) / static_cast<double>(size.height);
  if (size.width >= size.height) return {static_cast<int64_t>(static_cast<double>(edge) / ratio), edge};
  return {edge, static_cast<int64_t>(static_cast<double>(edge) * ratio)};
}

Size brought_to(const Size& size, int64_t longest_edge) {
  Size result = with_longer_edge(size, longest_edge);
  int64_t& shorter = size.width >= size.height ? result.height : result.width;
  shorter = std::max<int64_t>(1, shorter + shorter % 2);
  if (std::max(result.width, result.height) > most_tiled_edge) result = with_longer_edge(result, most_tiled_edge);
  return {std::max<int64_t>(1, result.height), std::max<int64_t>(1, result.width)};
}

Size in_whole_tiles(const Size& size, int64_t edge) {
  const auto up = [edge](int64_t length) { return (length + edge - 1) / edge * edge; };
  const Size longer = with_longer_edge(size, up(std::max(size.width, size.height)));
  return {up(longer.height), up(longer.width)};
}

Image part_of(const Image& image, int64_t top, int64_t left, int64_t edge) {
  Image part{edge, edge, {}};
  for (int64_t y = top; y < top + edge; ++y) {
    const uint8_t* row = image.rgb.data() + 3 * (y * image.width + left);
    part.rgb.insert(part.rgb.end(), row, row + 3 * edge);
  }
  return part;
}

}  // namespace

TiledImage tiles_of(const Image& image, const TileSettings& settings, Resample filter) {
  const int64_t edge = settings.edge;
  Size size{image.height, image.width};
  if (settings.longest_edge > 0) size = brought_to(size, settings.longest_edge);
  Image resized = resize(image, size.width, size.height, filter);
  if (!settings.split) return {.tiles = {resize(resized, edge, edge, filter)}};
  size = in_whole_tiles(size, edge);
  TiledImage result{.rows = size.height / edge, .columns = size.width / edge};
  check(result.rows <= most_tiles / std::max<int64_t>(1, result.columns),
        "[image] a picture of {} x {} pixels makes {} x {} tiles, more than {}; make it smaller", image.width,
        image.height, result.columns, result.rows, most_tiles);
  resized = resize(resized, size.width, size.height, filter);
  if (result.rows * result.columns == 1) return {.tiles = {std::move(resized)}};
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.columns; ++column)
      result.tiles.push_back(part_of(resized, row * edge, column * edge, edge));
  result.tiles.push_back(resize(resized, edge, edge, filter));
  return result;
}

}  // namespace vkformer
