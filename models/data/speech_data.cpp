#include "models/data/speech_data.h"

#include <algorithm>

#include "models/audio/audio_file.h"
#include "models/audio/log_mel.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

std::vector<ExampleLength> lengths_of(const SpeechExamples& examples) {
  std::vector<ExampleLength> lengths;
  for (const auto& target : examples.targets) lengths.push_back({.source = 0, .target = std::ssize(target)});
  return lengths;
}

}  // namespace

SpeechData::SpeechData(SpeechExamples training, SpeechExamples validation, const Settings& settings)
    : training_(std::move(training)), validation_(std::move(validation)), settings_(settings) {
  arrange(lengths_of(training_), lengths_of(validation_), settings.batches);
}

BatchShape SpeechData::shape_of(const LengthBatches::Bucket& bucket) const {
  return {.rows = bucket.rows, .positions = bucket.length, .source_positions = settings_.source_positions};
}

std::vector<float> SpeechData::frames_of(const std::filesystem::path& recording) const {
  return kept_.of(recording, [&] {
    std::vector<float> samples = read_audio(recording, settings_.mel.rate);
    // Another rate may make a few samples more of what fills the window.
    if (std::ssize(samples) < settings_.mel.samples() + settings_.mel.hop)
      samples.resize(std::min(samples.size(), static_cast<size_t>(settings_.mel.samples())));
    check(std::ssize(samples) <= settings_.mel.samples(),
          "{}: {:.1f} s are longer than the model's windows of {} s; cut it", recording.generic_string(),
          static_cast<double>(samples.size()) / static_cast<double>(settings_.mel.rate), settings_.mel.chunk_seconds);
    return log_mel(samples, settings_.mel);
  });
}

DataBatch SpeechData::assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                               int64_t) const {
  const SpeechExamples& from = split == Split::training ? training_ : validation_;
  const auto size = static_cast<size_t>(shape.rows * shape.positions);
  const auto window = static_cast<size_t>(settings_.mel.frames() * settings_.mel.mels);
  std::vector<int32_t> ids(size, settings_.padding), targets(size, ignored_target);
  std::vector<float> frames(static_cast<size_t>(shape.rows) * window);
  DataBatch batch{.shape = shape};
  for (size_t row = 0; row < examples.size(); ++row) {
    const auto first = static_cast<std::ptrdiff_t>(row) * shape.positions;
    const std::vector<int32_t>& target = from.targets[examples[row]];
    std::ranges::copy(target, targets.begin() + first);
    // The decoder reads what it has to write one position earlier.
    ids[static_cast<size_t>(first)] = settings_.decoder_start;
    std::copy(target.begin(), target.end() - 1, ids.begin() + first + 1);
    std::ranges::copy(frames_of(from.recordings[examples[row]]),
                      frames.begin() + static_cast<std::ptrdiff_t>(row * window));
    batch.tokens += std::ssize(target);
  }
  batch.inputs = {{"ids", std::move(ids)}, {"targets", std::move(targets)}};
  batch.floats = {{"source", std::move(frames)}};
  return batch;
}

}  // namespace vkformer
