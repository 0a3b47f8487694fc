// Recordings of a telephone's keys: what sounds in them, what they say, and the files.

#include "models/data/tones.h"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "models/audio/audio_file.h"
#include "models/audio/audio_writer.h"
#include "models/data/digit_strings.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using DigitPart = NumberSplit::Part;

constexpr std::array<int64_t, 7> key_frequencies = {697, 770, 852, 941, 1209, 1336, 1477};

/// Goertzel's algorithm: the power of one frequency.
double power_of(std::span<const int16_t> samples, int64_t hertz) {
  const double turn = 2 * std::numbers::pi * static_cast<double>(hertz) / tone_rate, factor = 2 * std::cos(turn);
  double last = 0, before = 0;
  for (const int16_t sample : samples) before = std::exchange(last, sample + factor * last - before);
  return last * last + before * before - factor * last * before;
}

/// The strongest of a telephone's frequencies, and the next.
std::set<int64_t> strongest_two(std::span<const int16_t> samples) {
  auto all = key_frequencies;
  std::ranges::sort(all, std::greater(), [&](int64_t hertz) { return power_of(samples, hertz); });
  return {all[0], all[1]};
}

std::span<const int16_t> part_of(const ToneRecording& recording, int64_t begin, int64_t end) {
  return std::span(recording.samples).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

int loudest_of(std::span<const int16_t> samples) {
  int most = 0;
  for (const int16_t sample : samples) most = std::max(most, std::abs(int{sample}));
  return most;
}

std::set<std::string> set_of(const std::vector<std::string>& strings) { return {strings.begin(), strings.end()}; }

/// FNV-1a.
uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

TEST_CASE("keys have the frequencies of Q.23", "[tones]") {
  const auto pair = [](char digit) { return std::pair(tones_of_key(digit).row, tones_of_key(digit).column); };
  CHECK(pair('1') == std::pair<int64_t, int64_t>(697, 1209));
  CHECK(pair('6') == std::pair<int64_t, int64_t>(770, 1477));
  CHECK(pair('8') == std::pair<int64_t, int64_t>(852, 1336));
  CHECK(pair('9') == std::pair<int64_t, int64_t>(852, 1477));
  CHECK(pair('0') == std::pair<int64_t, int64_t>(941, 1336));
  for (const char key : {'*', '#', 'a', '/', ':'})
    CHECK_THAT(error_of([&] { tones_of_key(key); }), ContainsSubstring("is no digit"));
  CHECK_THAT(error_of([] { record_tones("12 3", 1, 0); }), ContainsSubstring("\" \" is no digit"));
}

TEST_CASE("a digit's two frequencies are the strongest where it sounds", "[tones]") {
  const std::string digits = "00123456789987";
  for (uint64_t example = 0; example < 20; ++example) {
    CAPTURE(example);
    const ToneRecording recording = record_tones(digits, 5, example);
    REQUIRE(recording.tones.size() == digits.size());
    for (size_t i = 0; i < digits.size(); ++i) {
      const auto [begin, end] = recording.tones[i];
      const auto [row, column] = tones_of_key(digits[i]);
      CHECK(strongest_two(part_of(recording, begin, end)) == std::set{row, column});
    }
  }
}

TEST_CASE("tones, pauses and silence have lengths within bounds, and only noise is between tones", "[tones]") {
  std::set<int64_t> tone_lengths, pause_lengths, loudest;
  for (uint64_t example = 0; example < 50; ++example) {
    const ToneRecording recording = record_tones("4711", 9, example);
    int64_t heard = 0;
    for (size_t i = 0; i < recording.tones.size(); ++i) {
      const auto [begin, end] = recording.tones[i];
      (i == 0 ? loudest : pause_lengths).insert(begin - heard);
      if (i == 0) CHECK((begin >= 1600 && begin <= 4000));
      CHECK(loudest_of(part_of(recording, heard, begin)) <= 520);
      tone_lengths.insert(end - begin);
      heard = end;
    }
    const int64_t rest = std::ssize(recording.samples) - heard;
    CHECK((rest >= 1600 && rest <= 4000));
    CHECK(loudest_of(recording.samples) > 1500);
    CHECK(loudest_of(recording.samples) < 21000);
  }
  CHECK(*tone_lengths.begin() >= 480);
  CHECK(*tone_lengths.rbegin() <= 1120);
  CHECK(*pause_lengths.begin() >= 480);
  CHECK(*pause_lengths.rbegin() <= 1120);
  // They differ.
  CHECK(tone_lengths.size() > 80);
  CHECK(pause_lengths.size() > 80);
}

TEST_CASE("seed and example alone decide a recording, on every machine", "[tones]") {
  const auto samples = [](uint32_t seed, uint64_t example) { return record_tones("5308", seed, example).samples; };
  CHECK(samples(1, 0) == samples(1, 0));
  CHECK(samples(1, 0) != samples(2, 0));
  CHECK(samples(1, 0) != samples(1, 1));
  CHECK(samples(1, 0) != samples(1, uint64_t{1} << 32));
  CHECK(hash_of(wav_bytes(samples(1, 0), tone_rate)) == 0x2dcecac9c7d3539c);
}

TEST_CASE("noise is white and has no offset", "[tones]") {
  // Without digits a recording is silence: 0.4 to 1 s of noise.
  double sum = 0, squares = 0, products = 0, count = 0;
  for (uint64_t example = 0; example < 200; ++example) {
    const std::vector<int16_t> noise = record_tones("", 3, example).samples;
    for (size_t i = 1; i < noise.size(); ++i) {
      sum += noise[i];
      squares += noise[i] * noise[i];
      products += noise[i] * noise[i - 1];
      ++count;
    }
  }
  CHECK(std::sqrt(squares / count) > 50);
  CHECK(std::sqrt(squares / count) < 150);
  CHECK(std::abs(sum / count) < 1);
  CHECK(std::abs(products / squares) < 0.01);
}

TEST_CASE("no string of digits is in two parts", "[tones]") {
  for (const int64_t longest : {1, 2, 6}) {
    CAPTURE(longest);
    std::set<std::string> all;
    size_t sizes = 0;
    for (const auto& [part, count] :
         {std::pair(DigitPart::train, 2000), std::pair(DigitPart::valid, 200), std::pair(DigitPart::test, 200)}) {
      const auto strings = digit_strings(part, count, longest, 4);
      CHECK(std::ssize(strings) == count);
      for (const std::string& string : strings) {
        REQUIRE((!string.empty() && std::ssize(string) <= longest));
        REQUIRE(string.find_first_not_of("0123456789") == string.npos);
      }
      const auto unlike = set_of(strings);
      sizes += unlike.size();
      all.insert(unlike.begin(), unlike.end());
      if (longest == 6) CHECK(unlike.size() == strings.size());
    }
    CHECK(all.size() == sizes);
    // So many need all there are of short strings, and get a tenth of each length.
    if (longest == 1) CHECK(all.size() == 10);
    if (longest == 2) CHECK(all.size() == 110);
  }
}

TEST_CASE("strings of digits have all lengths, and fewer are the first of more", "[tones]") {
  const auto strings = digit_strings(DigitPart::train, 6000, 6, 1);
  std::array<int, 7> lengths{};
  for (const std::string& string : strings) ++lengths[string.size()];
  CHECK(lengths[1] == 8);
  CHECK(lengths[2] == 80);
  CHECK(lengths[3] == 800);
  for (const size_t length : {size_t{4}, size_t{5}, size_t{6}}) CHECK(std::abs(lengths[length] - 1704) < 200);
  const auto few = digit_strings(DigitPart::train, 100, 6, 1);
  CHECK(std::equal(few.begin(), few.end(), strings.begin()));
  CHECK(few != digit_strings(DigitPart::train, 100, 6, 2));
  CHECK(digit_strings(DigitPart::test, 100, 15, 1).size() == 100);
  CHECK_THAT(error_of([] { digit_strings(DigitPart::test, 1, 16, 1); }), ContainsSubstring("16 digits"));
  // Strings come again when all have come, not before.
  const auto again = digit_strings(DigitPart::valid, 22, 2, 1);
  CHECK(set_of(again).size() == 11);
  CHECK(set_of({again.begin(), again.begin() + 11}).size() == 11);
}

TEST_CASE("WAV files hold the samples that were written", "[tones]") {
  const std::vector<int16_t> samples = {0, 1, -1, 32767, -32768, 12345};
  const std::string bytes = wav_bytes(samples, 8000);
  CHECK(bytes.size() == 44 + 12);
  CHECK(bytes == wav_bytes(samples, 8000));
  const TemporaryFolder folder;
  write_wav(folder / "sound.wav", samples, 8000);
  CHECK(get(folder / "sound.wav") == bytes);
  const std::vector<float> heard = read_audio(folder / "sound.wav", 8000);
  REQUIRE(heard.size() == samples.size());
  for (size_t i = 0; i < samples.size(); ++i) CHECK(heard[i] == static_cast<float>(samples[i]) / 32768);
  CHECK(wav_bytes({}, 8000).size() == 44);
  for (const int64_t rate : {int64_t{0}, int64_t{-8000}, int64_t{1} << 40})
    CHECK_THAT(error_of([&] { wav_bytes(samples, rate); }), ContainsSubstring("is no rate of audio"));
  CHECK_THAT(error_of([&] { write_wav(folder / "none" / "sound.wav", samples, 8000); }),
             ContainsSubstring("none/sound.wav"));
}
