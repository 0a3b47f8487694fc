#pragma once
// Files of audio, of every format that libsndfile reads: WAV, FLAC, Ogg with Vorbis or Opus, AIFF, from its version 1.1
// on MP3, and more.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace vkformer {

/// A whole recording as one channel, the average of its channels, at `rate` Hz (4000 to 192000), in [-1, 1]: louder
/// samples, which files of floats may have, are clipped. Throws Error, with the file's name, for what can't be read or
/// is no audio, has no samples or more than 24 hours of them, or was cut off. WAV and FLAC say how long they are; other
/// files end where they end.
std::vector<float> read_audio(const std::filesystem::path& file, int64_t rate);

/// The same of a file's bytes; `name` is what errors call them. `watch` (optional) is called every few seconds of
/// sound; what it throws ends the work.
std::vector<float> decode_audio(std::span<const std::byte> bytes, std::string_view name, int64_t rate,
                                const std::function<void()>& watch = {});

/// How long a recording is; all of it is read. Throws Error like read_audio().
double audio_seconds(const std::filesystem::path& file);

}  // namespace vkformer
