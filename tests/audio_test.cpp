// Files of audio as samples, against the sines they were made of.

#include "models/audio/audio_file.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "models/audio/resampler.h"
#include "tests/sound_helpers.h"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

std::vector<float> heard(const std::string& bytes, int64_t rate = 16000) {
  return decode_audio(std::as_bytes(std::span(bytes)), "sound", rate);
}

std::string error_of_sound(const std::string& bytes) {
  return error_of([&] { heard(bytes); });
}

/// The largest difference, without `edge` samples at both ends.
double difference(const std::vector<float>& got, const std::vector<float>& expected, size_t edge = 0) {
  double largest = 0;
  for (size_t i = edge; i + edge < std::min(got.size(), expected.size()); ++i)
    largest = std::max(largest, std::abs(double{got[i]} - double{expected[i]}));
  return largest;
}

/// Little-endian bytes put over those of a file.
std::string patched(std::string bytes, size_t at, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

}  // namespace

TEST_CASE("a recording at the wanted rate comes out as it was written", "[audio]") {
  const std::vector<float> samples = sine(440, 0.5, 16000, 100000);  // more than a block
  CHECK(heard(sound_bytes(float_wav, 16000, 1, samples)) == samples);
  for (const int format : {wav, flac, SF_FORMAT_AIFF | SF_FORMAT_PCM_16, SF_FORMAT_AU | SF_FORMAT_PCM_16,
                           SF_FORMAT_RF64 | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_24}) {
    const std::vector<float> got = heard(sound_bytes(format, 16000, 1, samples));
    CHECK(got.size() == samples.size());
    CHECK(difference(got, samples) < 1.0 / 32768);
  }
  const TemporaryFolder folder;
  write_sound(folder / "sound.wav", float_wav, 16000, 1, samples);
  CHECK(read_audio(folder / "sound.wav", 16000) == samples);
}

TEST_CASE("channels are averaged", "[audio]") {
  std::vector<float> both, average;
  for (size_t i = 0; i < 50000; ++i) {
    const float left = static_cast<float>(i % 100) / 128, right = -static_cast<float>(i % 64) / 64;
    both.insert(both.end(), {left, right});
    average.push_back((left + right) / 2);
  }
  CHECK(heard(sound_bytes(float_wav, 16000, 2, both)) == average);
  CHECK(difference(heard(sound_bytes(flac, 16000, 2, both)), average) < 1.0 / 32768);
}

TEST_CASE("a resampled sine keeps its frequency, amplitude and place", "[audio]") {
  struct Way {
    int format, from, to;
    double hertz, limit;
  };
  // 1 % is out of step after a half turn, or too loud; files that leave out what is not heard leave out more.
  for (const Way& way :
       {Way{wav, 44100, 16000, 1000, 0.001}, Way{flac, 8000, 16000, 3000, 0.001}, Way{flac, 48000, 16000, 6500, 0.001},
        Way{wav, 22050, 16000, 440, 0.001}, Way{wav, 11025, 48000, 100, 0.001}, Way{ogg, 44100, 16000, 1000, 0.03}}) {
    CAPTURE(way.format, way.from, way.to);
    const auto count = static_cast<size_t>(way.from / 2);
    const std::vector<float> mono = sine(way.hertz, 0.5, way.from, count);
    std::vector<float> both;
    for (const float sample : mono) both.insert(both.end(), {sample, sample});
    const std::vector<float> got = heard(sound_bytes(way.format, way.from, 2, both), way.to);
    const std::vector<float> expected = sine(way.hertz, 0.5, way.to, count * way.to / way.from);
    CHECK(std::abs(std::ssize(got) - std::ssize(expected)) <= 1);
    // What the filter sees of the silence around a recording blurs its ends.
    CHECK(difference(got, expected, 400) < 0.5 * way.limit);
  }
}

TEST_CASE("what a rate can't hold is filtered out", "[audio]") {
  const std::vector<float> got = heard(sound_bytes(float_wav, 44100, 1, sine(9000, 0.5, 44100, 22050)));
  CHECK(difference(got, std::vector<float>(got.size()), 400) < 1e-4);
}

TEST_CASE("samples come out of a resampler however they go in", "[audio]") {
  const std::vector<float> samples = sine(300, 0.9, 24000, 12000);
  const auto in_blocks = [&](size_t size) {
    Resampler resampler(24000, 16000);
    std::vector<float> out;
    for (std::span<const float> rest = samples; !rest.empty(); rest = rest.subspan(std::min(size, rest.size())))
      resampler.add(rest.first(std::min(size, rest.size())), out);
    resampler.finish(out);
    return out;
  };
  const std::vector<float> whole = in_blocks(samples.size());
  CHECK(whole.size() == 8000);
  CHECK(in_blocks(1000) == whole);
  CHECK(in_blocks(7) == whole);
  CHECK_THAT(error_of([] { Resampler(100, 30000); }), ContainsSubstring("100 Hz to 30000 Hz"));
}

TEST_CASE("louder samples than files of whole numbers have are clipped", "[audio]") {
  CHECK(heard(sound_bytes(float_wav, 16000, 1, {0.5f, 1.5f, -7, -0.25f})) == std::vector<float>{0.5f, 1, -1, -0.25f});
  // A square wave's band-limited form overshoots.
  std::vector<float> square;
  for (size_t i = 0; i < 8000; ++i) square.push_back(i % 40 < 20 ? 1.0f : -1.0f);
  const std::vector<float> got = heard(sound_bytes(float_wav, 8000, 1, square));
  CHECK(*std::ranges::max_element(got) == 1);
  CHECK(*std::ranges::min_element(got) == -1);
}

TEST_CASE("MP3 and Opus are read where libsndfile has them", "[audio]") {
  const std::vector<float> samples = sine(1000, 0.5, 48000, 48000);
  for (const int format :
       {0x230000 | 0x0082, SF_FORMAT_OGG | SF_FORMAT_OPUS}) {  // SF_FORMAT_MPEG with layer III, of 1.1
    SF_INFO info = {.samplerate = 48000, .channels = 1, .format = format};
    if (sf_format_check(&info) == 0) continue;
    const std::vector<float> got = heard(sound_bytes(format, 48000, 1, samples));
    // MP3 begins with the encoder's own silence.
    CHECK(got.size() >= 16000);
    CHECK(got.size() < 16000 + 2 * 1152);
    double power = 0;
    for (size_t i = 4000; i < 12000; ++i) power += double{got[i]} * got[i] / 8000;
    CHECK(std::abs(std::sqrt(2 * power) - 0.5) < 0.02);
  }
}

TEST_CASE("files that are no audio give one line that says so", "[audio]") {
  const TemporaryFolder folder;
  const auto error_of_file = [&](const std::string& name) {
    return error_of([&] { read_audio(folder / name, 16000); });
  };
  CHECK_THAT(error_of_file("none.wav"), ContainsSubstring("none.wav: No such file or directory; check the path"));
  CHECK_THAT(error_of_file(""), ContainsSubstring("it is a folder"));
  put(folder / "empty.wav", "");
  CHECK_THAT(error_of_file("empty.wav"), ContainsSubstring("empty.wav: it is empty"));
  put(folder / "text.wav", "To be, or not to be, that is the question:\n");
  CHECK_THAT(error_of_file("text.wav"), ContainsSubstring("text.wav: it is no audio that libsndfile reads (") &&
                                            EndsWith("); convert it, as by: ffmpeg -i FILE FILE.wav") &&
                                            !ContainsSubstring(".)"));
  CHECK_THAT(error_of_sound(sound_bytes(wav, 16000, 1, {})), ContainsSubstring("sound: it has no samples"));
  CHECK_THAT(error_of_sound(sound_bytes(wav, 500, 1, {0.5f})), ContainsSubstring("500 Hz is no rate of audio"));
  CHECK_THAT(error_of_sound(sound_bytes(float_wav, 16000, 1, {0.5f, std::numeric_limits<float>::quiet_NaN()})),
             ContainsSubstring("sample 1 is no finite number"));
  CHECK_THAT(error_of_sound(sound_bytes(float_wav, 16000, 2, {0, 0, 0, std::numeric_limits<float>::infinity()})),
             ContainsSubstring("sample 1 is no finite number"));
  CHECK_THAT(error_of([&] { heard(sound_bytes(wav, 16000, 1, {0.5f}), 0); }), ContainsSubstring("0 Hz is no rate"));
}

TEST_CASE("a recording that was cut off is refused", "[audio]") {
  const std::vector<float> samples = sine(440, 0.5, 16000, 20000);
  for (const int format : {wav, float_wav, flac}) {
    const std::string bytes = sound_bytes(format, 16000, 1, samples);
    for (const size_t part : {size_t{50}, bytes.size() / 3, bytes.size() - 100})
      CHECK_THAT(error_of_sound(bytes.substr(0, part)), ContainsSubstring("sound: it "));
    CHECK_THAT(error_of_sound(bytes.substr(0, bytes.size() / 2)), ContainsSubstring("it was cut off"));
  }
  const std::string whole = sound_bytes(wav, 16000, 1, samples);
  CHECK_THAT(error_of_sound(whole.substr(0, 30000)), ContainsSubstring("it ends after 30000 bytes of 40044"));
  // What writes into a pipe can't say how long it will be.
  for (const uint32_t unknown : {0xFFFFFFFFu, 0x7FFFFFFFu}) {
    const std::string piped = patched(patched(whole, 4, unknown, 4), 40, unknown - 36, 4);
    CHECK(heard(piped) == heard(whole));
  }
  // A FLAC file that does not say it either.
  const std::string compressed = sound_bytes(flac, 16000, 1, samples);
  CHECK(heard(patched(compressed, 22, 0, 4)) == heard(whole));
}

TEST_CASE("a recording that is damaged, or longer than a day, is refused", "[audio]") {
  const std::string bytes = sound_bytes(flac, 16000, 1, sine(440, 0.5, 16000, 20000));
  CHECK_THAT(error_of_sound(patched(bytes, bytes.size() / 2, 0x123456789ABCDEF, 8)),
             ContainsSubstring("of 20000 samples: it was cut off or is damaged"));
  // 2^32 - 1 samples, as the file says, are three days.
  CHECK_THAT(error_of_sound(patched(bytes, 22, 0xFFFFFFFF, 4)), ContainsSubstring("more than 24 hours of audio"));
}
