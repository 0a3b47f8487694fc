#include <turbojpeg.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <string_view>

#include "models/images/image_formats.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// The content of the segment APP1 that holds EXIF's data, if there is one before the picture.
std::vector<std::byte> exif_of(std::span<const std::byte> bytes) {
  constexpr unsigned app1 = 0xE1, start_of_scan = 0xDA;
  const auto at = [&](size_t place) { return std::to_integer<unsigned>(bytes[place]); };
  for (size_t place = 2; place + 4 <= bytes.size() && at(place) == 0xFF;) {
    const unsigned marker = at(place + 1);
    if (marker == 0xFF) {  // filling
      ++place;
      continue;
    }
    const size_t length = at(place + 2) << 8 | at(place + 3);
    if (marker == start_of_scan || length < 2 || place + 2 + length > bytes.size()) break;
    const auto content = bytes.subspan(place + 4, length - 2);
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    if (marker == app1 && text.starts_with(std::string_view("Exif\0\0", 6))) return {content.begin(), content.end()};
    place += 2 + length;
  }
  return {};
}

/// Programs store CMYK as Adobe's do, inverted: 255 is paper. Rounded as by PIL.
void colours_of_cmyk(std::span<const uint8_t> cmyk, std::vector<uint8_t>& rgb) {
  for (size_t pixel = 0; pixel < rgb.size() / 3; ++pixel)
    for (size_t channel = 0; channel < 3; ++channel) {
      const int ink = 255 - cmyk[4 * pixel + channel], light = cmyk[4 * pixel + 3];
      rgb[3 * pixel + channel] = static_cast<uint8_t>(light - (ink * light + 127) / 255);
    }
}

}  // namespace

StoredImage read_jpeg(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check_size) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), &tjDestroy);
  check(decoder != nullptr, "{}: libjpeg-turbo does not start ({})", name, printable(tjGetErrorStr2(nullptr)));
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto size = static_cast<unsigned long>(std::min<size_t>(bytes.size(), ULONG_MAX));  // of Windows 4 GiB
  const auto reason = [&] { return printable(tjGetErrorStr2(decoder.get())); };
  int width = 0, height = 0, sampling = 0, colours = 0;
  check(tjDecompressHeader3(decoder.get(), data, size, &width, &height, &sampling, &colours) == 0,
        "{}: it is no JPEG that libjpeg-turbo reads ({}); convert it to PNG", name, reason());
  check_size(width, height);
  const bool cmyk = colours == TJCS_CMYK || colours == TJCS_YCCK;
  const auto pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  StoredImage stored{.image = {width, height, std::vector<uint8_t>(3 * pixels)}, .exif = exif_of(bytes)};
  std::vector<uint8_t> inks(cmyk ? 4 * pixels : 0);
  // Of damaged data it makes what it can, as for PIL. Scans are limited, since each costs as much as a whole picture.
  const int status = tjDecompress2(decoder.get(), data, size, cmyk ? inks.data() : stored.image.rgb.data(),
                                   width, 0, height, cmyk ? TJPF_CMYK : TJPF_RGB, TJFLAG_LIMITSCANS);
  const bool cut_off = status != 0 && reason().find("Premature end") != std::string::npos;
  check(!cut_off, "{}: it ends too early: it was cut off; copy or download it again", name);
  check(status == 0 || tjGetErrorCode(decoder.get()) == TJERR_WARNING,
        "{}: the file is damaged ({}); copy or download it again", name, reason());
  if (cmyk) colours_of_cmyk(inks, stored.image.rgb);
  return stored;
}

}  // namespace vkformer
