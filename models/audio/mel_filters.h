#pragma once
// The mel scale: triangular filters that are as narrow as hearing is sharp.

#include <cstddef>
#include <vector>

#include "models/audio/mel_settings.h"

namespace vkformer {

/// One triangle over the bins of a spectrum.
struct MelFilter {
  size_t first = 0;             ///< the bin that weights[0] is for
  std::vector<double> weights;  ///< none where the triangle lies between two bins

  /// The weighted sum of a spectrum of fft / 2 + 1 bins.
  double apply(const std::vector<double>& spectrum) const {
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * spectrum[first + i];
    return sum;
  }
};

/// `settings.mels` filters whose corners are evenly spaced from 0 to 8000 Hz on the scale of Slaney's Auditory Toolbox
/// (1998): linear below 1000 Hz (3 / 200 mel a Hz), logarithmic above (27 mel for a factor of 6.4). Each has the area
/// of 1 Hz: a peak of 2 / width. As librosa and transformers (mel_scale and norm "slaney") have them.
std::vector<MelFilter> mel_filters(const MelSettings& settings);

}  // namespace vkformer
