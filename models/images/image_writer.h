#pragma once
// Pictures as PNG files.

#include <filesystem>

#include "models/images/image.h"

namespace vkformer {

/// Writes one; it appears whole or not at all. Throws Error when it can't be written.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace vkformer
