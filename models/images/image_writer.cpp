#include "models/images/image_writer.h"

#include <png.h>

#include <string>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"

namespace vkformer {

void write_png(const std::filesystem::path& path, const Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  // First its size, then its bytes.
  png_alloc_size_t size = 0;
  std::string bytes;
  for (const bool measured : {false, true}) {
    bytes.resize(size);
    const bool done =
        png_image_write_to_memory(&png, measured ? bytes.data() : nullptr, &size, 0, image.rgb.data(), 0, nullptr) != 0;
    check(done, "{}: libpng can't make a file of {} x {} pixels ({})", path.generic_string(), image.width, image.height,
          std::string(png.message));
  }
  bytes.resize(size);
  write_file_atomically(path, bytes);
}

}  // namespace vkformer
