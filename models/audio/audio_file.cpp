#include "models/audio/audio_file.h"

#include <algorithm>

#include "models/audio/audio_reader.h"
#include "models/audio/resampler.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

std::vector<float> read_audio(const std::filesystem::path& file, int64_t rate) {
  return decode_audio(MappedFile(file).bytes(), printable(file.generic_string()), rate);
}

double audio_seconds(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  AudioReader reader(mapped.bytes(), printable(file.generic_string()));
  size_t samples = 0;
  for (size_t block = reader.next().size(); block > 0; block = reader.next().size()) samples += block;
  return static_cast<double>(samples) / static_cast<double>(reader.rate());
}

std::vector<float> decode_audio(std::span<const std::byte> bytes, std::string_view name, int64_t rate,
                                const std::function<void()>& watch) {
  check(rate >= 4000 && rate <= 192000, "[read_audio] {} Hz is no rate to read audio at; choose one of 4000 to 192000",
        rate);
  AudioReader reader(bytes, std::string(name));
  Resampler resampler(reader.rate(), rate);
  std::vector<float> samples;
  for (std::span<const float> block = reader.next(); !block.empty(); block = reader.next()) {
    if (watch) watch();
    resampler.add(block, samples);
  }
  resampler.finish(samples);
  check(!samples.empty(), "{}: it has no samples; record or convert it again", name);
  // Resampling may leave the range, too: what lies between two loud samples may be louder.
  for (float& sample : samples) sample = std::clamp(sample, -1.0f, 1.0f);
  return samples;
}

}  // namespace vkformer
