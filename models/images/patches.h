#pragma once
// Pictures as a model that sees takes them: rows of patches.

#include <span>
#include <vector>

#include "models/images/picture_shape.h"

namespace vkformer {

/// Rows [positions, columns] of one picture: zeros for the positions in front, then its patches from left to right and
/// top to bottom, each with its channels one after another, rows of pixels in them, as a convolution's weight
/// [C, channels, patch, patch] lies. `pixels`: [channels, height, width]. Pixels past the last whole patch are left
/// out, as that convolution leaves them. Throws Error for another number of pixels.
std::vector<float> patches_of(std::span<const float> pixels, const PictureShape& shape);

}  // namespace vkformer
