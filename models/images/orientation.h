#pragma once
// How a camera was held: EXIF's tag 274, as numbers 1 (upright) to 8.

#include <cstddef>
#include <span>

#include "models/images/image.h"

namespace vkformer {

/// What EXIF's data (a TIFF file, or "Exif\0\0" and one) say; 1 where they say nothing or are damaged, as PIL takes it.
int exif_orientation(std::span<const std::byte> exif);

/// The picture turned and mirrored so that it stands as it was seen: PIL's ImageOps.exif_transpose.
Image upright(Image image, int orientation);

}  // namespace vkformer
