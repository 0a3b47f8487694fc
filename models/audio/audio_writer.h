#pragma once
// Recordings as WAV files.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace vkformer {

/// The bytes of a WAV file of one channel of 16 bits at `rate` Hz (1000 to 1000000). Equal samples have equal bytes.
/// Throws Error for other rates and for 2^30 samples or more.
std::string wav_bytes(std::span<const int16_t> samples, int64_t rate);

/// Writes such a file; it appears whole or not at all. Throws Error when it can't be written, too.
void write_wav(const std::filesystem::path& path, std::span<const int16_t> samples, int64_t rate);

}  // namespace vkformer
