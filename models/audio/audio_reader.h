#pragma once
// libsndfile over bytes in memory, with suspicion: what it would pass over in silence is an error.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vkformer {

/// Reads a recording as one channel, block by block.
class AudioReader {
 public:
  /// The bytes must live as long as this. Throws Error, with `name`, for what is no audio, says that it is longer than
  /// 24 hours, or is a WAV file that was cut off.
  AudioReader(std::span<const std::byte> bytes, std::string name);
  ~AudioReader();

  int64_t rate() const { return rate_; }  ///< samples a second, 1000 to 1000000
  /// The next samples, averages of all channels, valid until the next call; none at the end. Throws Error for numbers
  /// that are not finite, for a FLAC file with fewer samples than it says (cut off or damaged), and beyond 24 hours.
  std::span<const float> next();

 private:
  struct Source;

  std::string name_;
  std::unique_ptr<Source> source_;  ///< libsndfile's file, and the bytes it reads
  int64_t rate_ = 0, channels_ = 0;
  int64_t declared_ = 0;  ///< samples a channel that the file says it has; 0 where that is not to be relied on
  int64_t read_ = 0;      ///< so many were read
  std::vector<float> block_;
};

}  // namespace vkformer
