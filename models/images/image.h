#pragma once
// A picture in memory.

#include <cstdint>
#include <vector>

namespace vkformer {

struct Image {
  int64_t width = 0, height = 0;  ///< pixels
  std::vector<uint8_t> rgb;       ///< red, green and blue of each pixel, row after row from the top
};

/// Larger pictures are taken for damaged or meant to do harm: what PIL warns of.
inline constexpr int64_t most_image_pixels = 89'478'485;

}  // namespace vkformer
