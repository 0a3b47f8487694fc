#include "models/images/image_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/images/image_formats.h"
#include "models/images/orientation.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

StoredImage read_stored(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check_size) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (start.starts_with("\xFF\xD8\xFF")) return read_jpeg(bytes, name, check_size);
  if (start.starts_with("\x89PNG\r\n\x1A\n")) return read_png(bytes, name, check_size);
  if (start.starts_with("RIFF") && start.substr(std::min<size_t>(8, start.size())).starts_with("WEBP"))
    return read_webp(bytes, name, check_size);
  fail("{}: it is no JPEG, PNG or WebP picture; convert it, as by: ffmpeg -i FILE FILE.png", name);
}

}  // namespace

Image read_image(const std::filesystem::path& file, int64_t most_pixels) {
  return read_image(MappedFile(file).bytes(), printable(file.generic_string()), most_pixels);
}

Image read_image(std::span<const std::byte> bytes, const std::string& name, int64_t most_pixels) {
  StoredImage stored = read_stored(bytes, name, [&](int64_t width, int64_t height) {
    check(width > 0 && height > 0, "{}: it has {} x {} pixels; the file is damaged", name, width, height);
    constexpr int64_t most_edge = 1 << 17;  // resizing weighs all pixels of a line at once
    check(std::max(width, height) <= most_edge, "{}: it has {} x {} pixels, more than {} in one direction; cut it",
          name, width, height, most_edge);
    check(width <= most_pixels / height, "{}: it has {} x {} pixels, more than {}; make it smaller", name, width,
          height, most_pixels);
  });
  return upright(std::move(stored.image), exif_orientation(stored.exif));
}

}  // namespace vkformer
