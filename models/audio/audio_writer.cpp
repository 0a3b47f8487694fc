#include "models/audio/audio_writer.h"

#include <sndfile.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// Bytes that libsndfile writes as if they were a file: it goes back to put lengths into the header.
struct Sink {
  std::string bytes;
  sf_count_t at = 0;

  static sf_count_t size(void* user) { return std::ssize(static_cast<Sink*>(user)->bytes); }
  static sf_count_t tell(void* user) { return static_cast<Sink*>(user)->at; }

  static sf_count_t seek(sf_count_t offset, int whence, void* user) {
    auto& sink = *static_cast<Sink*>(user);
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? sink.at : size(user);
    if (offset < -from) return -1;
    return sink.at = from + offset;
  }

  static sf_count_t write(const void* from, sf_count_t count, void* user) {
    auto& sink = *static_cast<Sink*>(user);
    sink.bytes.resize(static_cast<size_t>(std::max(size(user), sink.at + count)));
    if (count > 0) std::memcpy(sink.bytes.data() + sink.at, from, static_cast<size_t>(count));
    sink.at += count;
    return count;
  }
};

}  // namespace

std::string wav_bytes(std::span<const int16_t> samples, int64_t rate) {
  check(rate >= 1000 && rate <= 1'000'000, "[write_wav] {} Hz is no rate of audio; choose one of 1000 to 1000000",
        rate);
  check(samples.size() < size_t{1} << 30, "[write_wav] {} samples are too many for a WAV file; write several",
        samples.size());
  Sink sink;
  SF_VIRTUAL_IO calls = {
      .get_filelen = &Sink::size, .seek = &Sink::seek, .read = nullptr, .write = &Sink::write, .tell = &Sink::tell};
  SF_INFO info = {};
  info.samplerate = static_cast<int>(rate);
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file(sf_open_virtual(&calls, SFM_WRITE, &info, &sink), &sf_close);
  check(file != nullptr, "[write_wav] libsndfile begins no file ({})", printable(sf_strerror(nullptr)));
  const sf_count_t written = sf_write_short(file.get(), samples.data(), std::ssize(samples));
  const bool closed = sf_close(file.release()) == 0;
  check(closed && written == std::ssize(samples), "[write_wav] libsndfile wrote {} of {} samples; update it", written,
        samples.size());
  return std::move(sink.bytes);
}

void write_wav(const std::filesystem::path& path, std::span<const int16_t> samples, int64_t rate) {
  write_file_atomically(path, wav_bytes(samples, rate));
}

}  // namespace vkformer
