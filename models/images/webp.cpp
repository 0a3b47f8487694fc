#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "models/images/image_formats.h"
#include "runtime/check.h"

namespace vkformer {

StoredImage read_webp(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check_size) {
  const WebPData data = {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> file(WebPDemuxPartial(&data, &state),
                                                                      &WebPDemuxDelete);
  check(state == WEBP_DEMUX_PARSE_ERROR || state == WEBP_DEMUX_DONE,
        "{}: it ends too early: it was cut off; copy or download it again", name);
  WebPIterator frame = {};
  check(file != nullptr && WebPDemuxGetFrame(file.get(), 1, &frame) != 0,
        "{}: the file is damaged (it has no picture); copy or download it again", name);
  const std::unique_ptr<WebPIterator, decltype(&WebPDemuxReleaseIterator)> frame_ends(&frame,
                                                                                      &WebPDemuxReleaseIterator);
  const int64_t width = WebPDemuxGetI(file.get(), WEBP_FF_CANVAS_WIDTH);
  const int64_t height = WebPDemuxGetI(file.get(), WEBP_FF_CANVAS_HEIGHT);
  check_size(width, height);
  // An animation's first frame may be smaller than the canvas, which is black around it.
  const bool inside = frame.x_offset >= 0 && frame.y_offset >= 0 && frame.x_offset + frame.width <= width &&
                      frame.y_offset + frame.height <= height;
  StoredImage stored{.image = {width, height, std::vector<uint8_t>(static_cast<size_t>(3 * width * height))}};
  const int64_t first = 3 * (frame.y_offset * width + frame.x_offset);
  check(inside && WebPDecodeRGBInto(frame.fragment.bytes, frame.fragment.size, stored.image.rgb.data() + first,
                                    stored.image.rgb.size() - static_cast<size_t>(first),
                                    static_cast<int>(3 * width)) != nullptr,
        "{}: the file is damaged; copy or download it again", name);
  WebPChunkIterator chunk = {};
  if (WebPDemuxGetChunk(file.get(), "EXIF", 1, &chunk) != 0) {
    const auto exif = std::as_bytes(std::span(chunk.chunk.bytes, chunk.chunk.size));
    stored.exif.assign(exif.begin(), exif.end());
  }
  WebPDemuxReleaseChunkIterator(&chunk);
  return stored;
}

}  // namespace vkformer
