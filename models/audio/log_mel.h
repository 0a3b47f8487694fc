#pragma once
// What Whisper reads of audio: the logarithm of a spectrogram through mel filters.

#include <span>
#include <vector>

#include "models/audio/mel_settings.h"

namespace vkformer {

/// The features of one window of audio, [settings.frames(), settings.mels] by rows, as transformers'
/// WhisperFeatureExtractor computes them (which gives their transpose): frames around every hop-th sample under a
/// periodic Hann window, the audio mirrored at both ends of the window; power spectrum; mel filters; the decadic
/// logarithm of no less than 1e-10; then no less than the window's maximum less 8; (x + 4) / 4. Computed in double.
///
/// `samples`: in [-1, 1], at settings.rate; silence follows up to settings.samples(). Throws Error where there are
/// more: a longer recording is several windows.
std::vector<float> log_mel(std::span<const float> samples, const MelSettings& settings);

}  // namespace vkformer
