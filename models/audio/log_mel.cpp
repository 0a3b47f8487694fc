#include "models/audio/log_mel.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <numbers>

#include "models/audio/mel_filters.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr double least_power = 1e-10;

/// Spectra of the frames of a window.
class FramePowers {
 public:
  FramePowers(std::span<const float> samples, const MelSettings& settings)
      : samples_(samples),
        length_(settings.samples()),
        half_(settings.fft / 2),
        transform_(static_cast<size_t>(half_), false),
        frame_(static_cast<size_t>(settings.fft)),
        spectrum_(static_cast<size_t>(half_)),
        powers_(static_cast<size_t>(half_) + 1) {
    for (int64_t i = 0; i < settings.fft; ++i) {
      const double turn = static_cast<double>(i) / static_cast<double>(settings.fft);
      hann_.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * turn));
    }
  }

  /// Whether a frame around this sample has silence alone.
  bool silent(int64_t centre) const { return centre - half_ >= std::ssize(samples_); }

  /// |X_k|^2 of such a frame, k = 1 .. fft / 2; 0 at k = 0.
  const std::vector<double>& operator()(int64_t centre) {
    for (size_t i = 0; i < frame_.size(); ++i) frame_[i] = hann_[i] * sample(centre - half_ + static_cast<int64_t>(i));
    transform_.transform_real(frame_.data(), spectrum_.data());
    // No filter takes bin 0. The last one is real, and lies where that one has no imaginary part.
    powers_.back() = spectrum_[0].imag() * spectrum_[0].imag();
    for (size_t k = 1; k < spectrum_.size(); ++k) powers_[k] = std::norm(spectrum_[k]);
    return powers_;
  }

 private:
  /// Mirrored around the first and the last sample of the window, which are not repeated.
  double sample(int64_t at) const {
    if (at < 0) at = -at;
    if (at >= length_) at = 2 * (length_ - 1) - at;
    return at < std::ssize(samples_) ? samples_[static_cast<size_t>(at)] : 0;
  }

  std::span<const float> samples_;
  int64_t length_, half_;
  kissfft<double> transform_;  ///< of as many complex numbers, which is one of twice as many real ones
  std::vector<double> hann_, frame_;
  std::vector<std::complex<double>> spectrum_;
  std::vector<double> powers_;
};

}  // namespace

std::vector<float> log_mel(std::span<const float> samples, const MelSettings& settings) {
  check(settings.mels > 0 && settings.fft >= 4 && settings.fft % 2 == 0 && settings.hop > 0 && settings.frames() > 0 &&
            settings.fft / 2 < settings.samples(),
        "[log_mel] windows of {} samples with frames of {} (even, 4 or more) every {} through {} filters make no "
        "features",
        settings.samples(), settings.fft, settings.hop, settings.mels);
  check(std::ssize(samples) <= settings.samples(),
        "[log_mel] {} samples are more than the {} of a window of {} s; cut them", samples.size(), settings.samples(),
        settings.chunk_seconds);
  const std::vector<MelFilter> filters = mel_filters(settings);
  FramePowers powers_of(samples, settings);
  std::vector<double> logs(static_cast<size_t>(settings.frames()) * filters.size(), std::log10(least_power));
  for (int64_t frame = 0; frame < settings.frames() && !powers_of.silent(frame * settings.hop); ++frame) {
    const std::vector<double>& powers = powers_of(frame * settings.hop);
    double* row = &logs[static_cast<size_t>(frame) * filters.size()];
    for (size_t m = 0; m < filters.size(); ++m) row[m] = std::log10(std::max(least_power, filters[m].apply(powers)));
  }
  const double least = *std::ranges::max_element(logs) - 8;
  std::vector<float> features(logs.size());
  std::ranges::transform(logs, features.begin(),
                         [&](double x) { return static_cast<float>((std::max(x, least) + 4) / 4); });
  return features;
}

}  // namespace vkformer
