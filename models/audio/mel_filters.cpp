#include "models/audio/mel_filters.h"

#include <algorithm>
#include <cmath>

namespace vkformer {

namespace {

// Whisper's, whatever the rate is.
constexpr double highest_hertz = 8000;
// Where the scale turns from linear to logarithmic.
constexpr double turn_hertz = 1000, turn_mel = 15;

double mels_a_log() { return 27 / std::log(6.4); }

double mel_of_hertz(double hertz) {
  return hertz < turn_hertz ? hertz * turn_mel / turn_hertz : turn_mel + std::log(hertz / turn_hertz) * mels_a_log();
}

double hertz_of_mel(double mel) {
  return mel < turn_mel ? mel * turn_hertz / turn_mel : turn_hertz * std::exp((mel - turn_mel) / mels_a_log());
}

}  // namespace

std::vector<MelFilter> mel_filters(const MelSettings& settings) {
  const auto bins = static_cast<size_t>(settings.fft / 2 + 1), mels = static_cast<size_t>(settings.mels);
  // Half of an odd rate is cut to whole Hz, as transformers does.
  const double bin_hertz = static_cast<double>(settings.rate / 2) / static_cast<double>(bins - 1);
  const double highest_mel = mel_of_hertz(highest_hertz);
  const auto corner = [&](size_t i) {
    return hertz_of_mel(highest_mel * static_cast<double>(i) / static_cast<double>(mels + 1));
  };
  std::vector<MelFilter> filters(mels);
  for (size_t m = 0; m < mels; ++m) {
    const double low = corner(m), peak = corner(m + 1), high = corner(m + 2);
    MelFilter& filter = filters[m];
    for (size_t bin = 0; bin < bins; ++bin) {
      const double hertz = static_cast<double>(bin) * bin_hertz;
      const double height = std::min((hertz - low) / (peak - low), (high - hertz) / (high - peak));
      if (height <= 0) continue;
      if (filter.weights.empty()) filter.first = bin;
      filter.weights.push_back(height * 2 / (high - low));
    }
  }
  return filters;
}

}  // namespace vkformer
