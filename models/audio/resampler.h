#pragma once
// Audio at another rate, by libsamplerate.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct SRC_STATE_tag;

namespace vkformer {

/// One channel, block by block: band-limited interpolation by libsamplerate's medium filter (of 90 % of the band, 121
/// dB), without delay. Nothing is changed where the rates are equal.
class Resampler {
 public:
  /// Rates in Hz, one no more than 256 times the other. Throws Error.
  Resampler(int64_t from, int64_t to);

  /// Takes samples and appends to `out` what is ready of them.
  void add(std::span<const float> samples, std::vector<float>& out);
  /// The rest: in all, `out` gets to / from as many samples as were added, give or take one. Call it once, last.
  void finish(std::vector<float>& out);

 private:
  void process(std::span<const float> samples, bool last, std::vector<float>& out);

  double ratio_;
  std::unique_ptr<SRC_STATE_tag, SRC_STATE_tag* (*)(SRC_STATE_tag*)> state_;
  std::array<float, 4096> block_ = {};
};

}  // namespace vkformer
