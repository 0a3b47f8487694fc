#pragma once
// Files of pictures: JPEG, PNG and WebP, told apart by their first bytes.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "models/images/image.h"

namespace vkformer {

/// A whole picture as PIL's convert("RGB") gives it: alpha is dropped, grey and palettes are made colours, CMYK is
/// taken as Adobe writes it, colour profiles are not looked at; turned upright if EXIF says how it was taken. Of 16
/// bits a channel the upper 8 count, also of grey, which PIL would clip. Of an animation it is the first frame. Throws
/// Error, with the file's name, for what can't be read, is none of the three, was cut off, or has more than
/// `most_pixels`.
Image read_image(const std::filesystem::path& file, int64_t most_pixels = most_image_pixels);

/// The same of a file's bytes; `name` is what errors call them.
Image read_image(std::span<const std::byte> bytes, const std::string& name, int64_t most_pixels = most_image_pixels);

}  // namespace vkformer
