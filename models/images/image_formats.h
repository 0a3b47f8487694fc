#pragma once
// The decoders behind image_file.h, a library each.

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "models/images/image.h"

namespace vkformer {

/// A picture as it lies in its file, and what its file says of how it was taken.
struct StoredImage {
  Image image;
  std::vector<std::byte> exif;  ///< a TIFF file, or "Exif\0\0" and one; empty for none
};

/// Called with a picture's width and height before memory is taken for it; throws what refuses it.
using SizeCheck = std::function<void(int64_t width, int64_t height)>;

// Each throws Error, with `name`, for files that are damaged or were cut off.
StoredImage read_jpeg(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check_size);
StoredImage read_png(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check_size);
StoredImage read_webp(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check_size);

}  // namespace vkformer
