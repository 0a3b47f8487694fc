#pragma once
// Recordings of digits as a telephone's keys sound: dual-tone multi-frequency signalling (ITU-T Q.23).

#include <cstdint>
#include <string_view>
#include <vector>

namespace vkformer {

constexpr int64_t tone_rate = 8000;  ///< samples a second of the recordings

/// The two frequencies, in Hz, of a key.
struct KeyTones {
  int64_t row = 0, column = 0;
};

/// Those of a digit, '0' to '9': the rows of a telephone's keys have 697, 770, 852 and 941 Hz, the columns 1209, 1336
/// and 1477 Hz. Throws Error for other characters.
KeyTones tones_of_key(char digit);

struct ToneRecording {
  /// Samples from `begin` to before `end`.
  struct Stretch {
    int64_t begin = 0, end = 0;
  };
  std::vector<int16_t> samples;  ///< one channel, tone_rate samples a second
  std::vector<Stretch> tones;    ///< one for each digit: where its tones sound
};

/// The digits, one after another: each tone and each pause takes 60 to 140 ms, and 200 to 500 ms of silence are at
/// either end. Loudness (the recording's, and within 3 dB each frequency's) and phases are random; white noise, 14 to
/// 67 dB below a frequency, is over all. `seed` and `example`, which tells one recording from another, decide, on every
/// machine alike. Throws Error for what is no digit.
ToneRecording record_tones(std::string_view digits, uint32_t seed, uint64_t example);

}  // namespace vkformer
