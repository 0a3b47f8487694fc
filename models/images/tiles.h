#pragma once
// Large pictures in tiles: what transformers' image processors of Idefics 3 and SmolVLM do.

#include <cstdint>
#include <vector>

#include "models/images/image.h"
#include "models/images/resize.h"

namespace vkformer {

struct TileSettings {
  int64_t longest_edge = 0;  ///< that the picture is brought to first; 0: it stays
  int64_t edge = 0;          ///< of a tile, which is a square
  bool split = true;         ///< false: one tile has all of it
  bool operator==(const TileSettings&) const = default;
};

struct TiledImage {
  std::vector<Image> tiles;       ///< row by row, and behind them the whole picture in one
  int64_t rows = 0, columns = 0;  ///< 0: the whole in one tile is all there is
};

/// The picture with its longer edge brought to `longest_edge`, then both to multiples of a tile's; cut into tiles, and
/// resized to one. Throws Error for more than 1024 tiles.
TiledImage tiles_of(const Image& image, const TileSettings& settings, Resample filter);

}  // namespace vkformer
