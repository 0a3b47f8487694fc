#pragma once
// Recordings that tests make.

#include <sndfile.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include "models/audio/audio_writer.h"
#include "tests/file_helpers.h"

namespace vkformer::testing {

/// `count` samples of amplitude * sin(2 pi hertz t).
inline std::vector<float> sine(double hertz, double amplitude, int rate, size_t count) {
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i)
    samples[i] = static_cast<float>(amplitude * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate));
  return samples;
}

/// Writes samples, those of all channels one after another, in one of libsndfile's formats.
inline void write_sound(const std::filesystem::path& path, int format, int rate, int channels,
                        const std::vector<float>& samples) {
  SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
  SNDFILE* file = sf_open(path.generic_string().c_str(), SFM_WRITE, &info);
  if (file == nullptr) fail("cannot write {}: {}", path.generic_string(), sf_strerror(nullptr));
  const sf_count_t written = sf_write_float(file, samples.data(), std::ssize(samples));
  if (sf_close(file) != 0 || written != std::ssize(samples)) fail("cannot write {}", path.generic_string());
}

/// The bytes of such a file.
inline std::string sound_bytes(int format, int rate, int channels, const std::vector<float>& samples) {
  const TemporaryFolder folder;
  write_sound(folder / "sound", format, rate, channels, samples);
  return get(folder / "sound");
}

inline constexpr int wav = SF_FORMAT_WAV | SF_FORMAT_PCM_16, flac = SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                     float_wav = SF_FORMAT_WAV | SF_FORMAT_FLOAT, ogg = SF_FORMAT_OGG | SF_FORMAT_VORBIS;

/// A sine that climbs.
inline std::vector<float> some_sound(double seconds, int64_t rate = 16000) {
  std::vector<float> samples(static_cast<size_t>(seconds * static_cast<double>(rate)));
  for (size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(rate);
    samples[i] = static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * (200 + 300 * t) * t));
  }
  return samples;
}

/// So many seconds of it.
inline void write_sound(const std::filesystem::path& file, double seconds) {
  std::vector<int16_t> samples;
  for (const float value : some_sound(seconds)) samples.push_back(static_cast<int16_t>(std::lround(value * 32767)));
  write_wav(file, samples, 16000);
}

}  // namespace vkformer::testing
