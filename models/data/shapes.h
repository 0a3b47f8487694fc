#pragma once
// Small pictures of shapes, to try a model that sees on.

#include <string_view>

#include "models/images/image.h"

namespace vkformer {

/// What they show; a picture's label.
inline constexpr std::string_view shape_names[] = {"circle", "cross", "square", "triangle"};
inline constexpr int64_t shape_pixels = 32;  ///< to a side of a picture

struct ShapePicture {
  Image image;
  size_t shape = 0;  ///< one of shape_names
};

/// One shape of a bright colour before a dark ground; what it is, its place, size and colours and noise over all are
/// random. `seed` and `example`, which tells one picture from another, decide, on every machine alike.
ShapePicture draw_shape(uint32_t seed, uint64_t example);

}  // namespace vkformer
