#include "models/audio/audio_reader.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

struct AudioReader::Source {
  std::span<const std::byte> bytes;
  sf_count_t at = 0;
  std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file = {nullptr, &sf_close};

  static sf_count_t size(void* user) { return std::ssize(static_cast<Source*>(user)->bytes); }
  static sf_count_t tell(void* user) { return static_cast<Source*>(user)->at; }

  /// Like lseek, also beyond the end, where nothing can be read.
  static sf_count_t seek(sf_count_t offset, int whence, void* user) {
    auto& source = *static_cast<Source*>(user);
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source.at : size(user);
    if (offset < -from || offset > SF_COUNT_MAX - from) return -1;
    return source.at = from + offset;
  }

  static sf_count_t read(void* to, sf_count_t wanted, void* user) {
    auto& source = *static_cast<Source*>(user);
    const sf_count_t count = std::min(wanted, size(user) - source.at);
    if (count <= 0) return 0;
    std::memcpy(to, source.bytes.data() + source.at, static_cast<size_t>(count));
    source.at += count;
    return count;
  }
};

namespace {

constexpr int64_t lowest_rate = 1000, highest_rate = 1'000'000;
constexpr int64_t most_seconds = int64_t{24} * 60 * 60;
constexpr int64_t block_values = 1 << 16;

/// libsndfile reads a WAV file that was cut off without a word. Its second field is how many bytes follow that; some
/// programs count all bytes, and those that can't go back to write it leave 0, or the highest number less a header.
void check_length_of_wav(std::span<const std::byte> bytes, std::string_view name) {
  constexpr uint32_t most = 0x7FFF'0000;
  if (bytes.size() < 8 || std::memcmp(bytes.data(), "RIFF", 4) != 0) return;
  uint32_t says = 0;
  for (size_t i = 0; i < 4; ++i) says |= std::to_integer<uint32_t>(bytes[4 + i]) << (8 * i);
  check(says <= bytes.size() || says >= most,
        "{}: it ends after {} bytes of {}: it was cut off; copy or download it again", name, bytes.size(),
        says + uint64_t{8});
}

/// Why libsndfile opened nothing, without a full stop.
std::string reason_of_none() {
  std::string text = printable(sf_strerror(nullptr));
  while (text.ends_with('.')) text.pop_back();
  return text;
}

void check_duration(int64_t samples, int64_t rate, std::string_view name) {
  check(samples <= most_seconds * rate, "{}: it has more than 24 hours of audio; cut it", name);
}

}  // namespace

AudioReader::AudioReader(std::span<const std::byte> bytes, std::string name)
    : name_(std::move(name)), source_(std::make_unique<Source>(Source{.bytes = bytes})) {
  check_length_of_wav(bytes, name_);
  SF_VIRTUAL_IO calls = {.get_filelen = &Source::size,
                         .seek = &Source::seek,
                         .read = &Source::read,
                         .write = nullptr,
                         .tell = &Source::tell};
  SF_INFO info = {};
  source_->file.reset(sf_open_virtual(&calls, SFM_READ, &info, source_.get()));
  check(source_->file != nullptr,
        "{}: it is no audio that libsndfile reads ({}); convert it, as by: ffmpeg -i FILE FILE.wav", name_,
        reason_of_none());
  rate_ = info.samplerate;
  channels_ = info.channels;
  check(rate_ >= lowest_rate && rate_ <= highest_rate, "{}: {} Hz is no rate of audio; the file is damaged", name_,
        rate_);
  check(channels_ >= 1 && channels_ <= block_values, "{}: it has {} channels; the file is damaged", name_, channels_);
  if (info.frames < SF_COUNT_MAX) check_duration(info.frames, rate_, name_);
  const bool exact = (info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC && info.frames < SF_COUNT_MAX;
  declared_ = exact ? info.frames : 0;
  block_.resize(static_cast<size_t>(block_values / channels_ * channels_));
}

AudioReader::~AudioReader() = default;

std::span<const float> AudioReader::next() {
  const sf_count_t got = sf_readf_float(source_->file.get(), block_.data(), std::ssize(block_) / channels_);
  if (got <= 0) {
    // Of what it can't decode it says no more.
    check(read_ >= declared_,
          "{}: it ends after {} of {} samples: it was cut off or is damaged; copy or download it again", name_, read_,
          declared_);
    return {};
  }
  for (size_t i = 0, at = 0; i < static_cast<size_t>(got); ++i) {
    float sum = 0;
    for (int64_t channel = 0; channel < channels_; ++channel) sum += block_[at++];
    check(std::isfinite(sum), "{}: sample {} is no finite number; record or convert it again", name_,
          read_ + static_cast<int64_t>(i));
    block_[i] = sum / static_cast<float>(channels_);  // in place of what was read
  }
  read_ += got;
  check_duration(read_, rate_, name_);
  return std::span(block_).first(static_cast<size_t>(got));
}

}  // namespace vkformer
