#include "models/images/orientation.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace vkformer {

namespace {

/// Numbers of 2 and 4 bytes in the order that the file says it has. Beyond its end they are 0.
struct TiffNumbers {
  std::span<const std::byte> bytes;
  bool little = true;

  uint32_t read(uint64_t at, uint64_t size) const {
    if (at + size > bytes.size()) return 0;
    uint32_t value = 0;
    for (uint64_t i = 0; i < size; ++i)
      value = value << 8 | std::to_integer<uint32_t>(bytes[at + (little ? size - 1 - i : i)]);
    return value;
  }
};

}  // namespace

int exif_orientation(std::span<const std::byte> exif) {
  constexpr uint32_t orientation = 274, of_16_bits = 3;
  constexpr uint64_t entry_bytes = 12;
  const auto starts_with = [&](std::string_view text) {
    return std::string_view(reinterpret_cast<const char*>(exif.data()), exif.size()).starts_with(text);
  };
  if (starts_with(std::string_view("Exif\0\0", 6))) exif = exif.subspan(6);
  const bool little = starts_with("II");
  if (!little && !starts_with("MM")) return 1;
  const TiffNumbers numbers{exif, little};
  const uint64_t directory = numbers.read(4, 4), entries = numbers.read(directory, 2);
  for (uint64_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + i * entry_bytes;
    if (numbers.read(entry, 2) != orientation || numbers.read(entry + 2, 2) != of_16_bits) continue;
    const auto value = static_cast<int>(numbers.read(entry + 8, 2));
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  // From 5 on rows become columns; where pixel (0, 0) of the result comes from is what tells the others apart.
  const bool turned = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image result{turned ? image.height : image.width, turned ? image.width : image.height, {}};
  result.rgb.resize(image.rgb.size());
  auto* to = result.rgb.data();
  for (int64_t y = 0; y < result.height; ++y)
    for (int64_t x = 0; x < result.width; ++x, to += 3) {
      const int64_t column = turned ? y : x, row = turned ? x : y;
      const int64_t from_x = from_right ? image.width - 1 - column : column;
      const int64_t from_y = from_below ? image.height - 1 - row : row;
      std::copy_n(image.rgb.data() + 3 * (from_y * image.width + from_x), 3, to);
    }
  return result;
}

}  // namespace vkformer
