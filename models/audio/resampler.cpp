#include "models/audio/resampler.h"

#include <samplerate.h>

#include "runtime/check.h"

namespace vkformer {

Resampler::Resampler(int64_t from, int64_t to)
    : ratio_(static_cast<double>(to) / static_cast<double>(from)), state_(nullptr, &src_delete) {
  check(from > 0 && to > 0 && src_is_valid_ratio(ratio_) != 0,
        "[resample] {} Hz to {} Hz: one may be up to 256 times the other; choose nearer rates", from, to);
  if (from == to) return;
  int error = 0;
  state_.reset(src_new(SRC_SINC_MEDIUM_QUALITY, 1, &error));
  check(state_ != nullptr, "[resample] libsamplerate can't begin ({}); free some memory", src_strerror(error));
}

void Resampler::add(std::span<const float> samples, std::vector<float>& out) {
  if (state_)
    process(samples, false, out);
  else
    out.insert(out.end(), samples.begin(), samples.end());
}

void Resampler::finish(std::vector<float>& out) {
  if (state_) process({}, true, out);
}

void Resampler::process(std::span<const float> samples, bool last, std::vector<float>& out) {
  const float none = 0;  // libsamplerate wants a pointer even to nothing
  for (bool more = true; more;) {
    SRC_DATA step = {.data_in = samples.empty() ? &none : samples.data(),
                     .data_out = block_.data(),
                     .input_frames = static_cast<long>(samples.size()),
                     .output_frames = static_cast<long>(block_.size()),
                     .input_frames_used = 0,
                     .output_frames_gen = 0,
                     .end_of_input = last ? 1 : 0,
                     .src_ratio = ratio_};
    const int error = src_process(state_.get(), &step);
    check(error == 0, "[resample] libsamplerate failed ({})", src_strerror(error));
    out.insert(out.end(), block_.begin(), block_.begin() + step.output_frames_gen);
    samples = samples.subspan(static_cast<size_t>(step.input_frames_used));
    // What does not fit into the block waits inside.
    more = !samples.empty() || step.output_frames_gen > 0;
  }
}

}  // namespace vkformer
