#pragma once
// The pictures of a model that sees.

#include <cstdint>

namespace vkformer {

/// Each is cut into patches as models/images/patches.h does it.
struct PictureShape {
  int64_t height = 0, width = 0;  ///< pixels
  int64_t channels = 3;
  int64_t patch = 0;  ///< pixels to a side of one; 0: the model sees no pictures
  int64_t front = 0;  ///< positions before the patches: of tokens that stand for the whole picture
  int64_t patches() const { return (height / patch) * (width / patch); }
  int64_t positions() const { return front + patches(); }
  int64_t columns() const { return channels * patch * patch; }  ///< values of a patch
};

}  // namespace vkformer
