#include "models/data/tones.h"

#include <algorithm>
#include <array>

#include "models/data/draws.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr uint32_t tone_stream = 0x746f6e65, noise_stream = 0x6e6f6973;

constexpr int64_t milliseconds(int64_t count) { return count * tone_rate / 1000; }

constexpr int64_t ramp = milliseconds(4);  ///< a tone begins and ends by degrees, or it would click

/// The sine of a phase in turns / 2^32, times 2^30, within 4e-6 of it. Of integers alone: compilers and libraries of
/// other machines round floating point otherwise.
int64_t sine(uint32_t phase) {
  constexpr int64_t quarter = int64_t{1} << 30;
  int64_t x = static_cast<int32_t>(phase);
  if (x > quarter) x = 2 * quarter - x;
  if (x < -quarter) x = -2 * quarter - x;
  const int64_t square = x * x >> 30;
  // (pi / 2)^n / n! * 2^30 of n = 9, 7, 5, 3, 1: Taylor's series in quarters of a turn.
  int64_t y = 172272;
  for (const int64_t term : {5026995, 85569306, 693598668, 1686629713}) y = term - (y * square >> 30);
  return x * y >> 30;
}

/// One frequency at one loudness, sample by sample.
struct Oscillator {
  int64_t amplitude = 0;  ///< of 32768
  uint32_t phase = 0, step = 0;

  int64_t next() {
    const int64_t sample = amplitude * sine(phase) >> 30;
    phase += step;
    return sample;
  }
};

uint32_t step_of(int64_t hertz) { return static_cast<uint32_t>((hertz << 32) / tone_rate); }

/// Adds noise whose root mean square is `level` of 32768: sums of four bytes, nearly normal.
void add_noise(std::vector<int16_t>& samples, int64_t level, uint32_t seed, uint64_t example) {
  constexpr int64_t mean = 510, deviation = 148;  // of a sum of four bytes
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i % 4 == 0)
      words = philox4x32_10(
          {static_cast<uint32_t>(i / 4), static_cast<uint32_t>(example), static_cast<uint32_t>(example >> 32), 0},
          {seed, noise_stream});
    int64_t sum = -mean;
    for (uint32_t word = words[i % 4]; word != 0; word >>= 8) sum += word & 0xff;
    samples[i] = static_cast<int16_t>(samples[i] + sum * level / deviation);
  }
}

}  // namespace

KeyTones tones_of_key(char digit) {
  constexpr std::array<int64_t, 4> rows = {697, 770, 852, 941};
  constexpr std::array<int64_t, 3> columns = {1209, 1336, 1477};
  check(digit >= '0' && digit <= '9', "[tones_of_key] {} is no digit; give one of 0 to 9", in_quotes({&digit, 1}));
  const auto key = static_cast<size_t>(digit == '0' ? 10 : digit - '1');  // 0 is in the middle of the last row
  return {.row = rows[key / 3], .column = columns[key % 3]};
}

ToneRecording record_tones(std::string_view digits, uint32_t seed, uint64_t example) {
  Draws draws(seed, tone_stream, example);
  const auto between = [&](int64_t least, int64_t most) { return least + draws.below(most - least + 1); };
  const int64_t loudness = between(1500, 10000), noise = between(3, 150);
  const auto oscillator = [&](int64_t hertz) {
    const int64_t amplitude = loudness * between(71, 100) / 100;
    return Oscillator{
        .amplitude = amplitude, .phase = static_cast<uint32_t>(draws.below(int64_t{1} << 32)), .step = step_of(hertz)};
  };
  ToneRecording recording;
  std::vector<int16_t>& samples = recording.samples;
  const auto be_silent = [&](int64_t least, int64_t most) {
    samples.resize(samples.size() + static_cast<size_t>(between(milliseconds(least), milliseconds(most))));
  };
  be_silent(200, 500);
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0) be_silent(60, 140);
    const KeyTones key = tones_of_key(digits[i]);
    Oscillator row = oscillator(key.row), column = oscillator(key.column);
    const int64_t length = between(milliseconds(60), milliseconds(140)), begin = std::ssize(samples);
    for (int64_t at = 0; at < length; ++at) {
      const int64_t gain = std::min({at + 1, length - at, ramp});
      samples.push_back(static_cast<int16_t>((row.next() + column.next()) * gain / ramp));
    }
    recording.tones.push_back({.begin = begin, .end = begin + length});
  }
  be_silent(200, 500);
  add_noise(samples, noise, seed, example);
  return recording;
}

}  // namespace vkformer
