#include "models/data/tagged.h"

namespace vkformer {

TagData::TagData(Split training, Split validation, const Settings& settings)
    : training_(std::move(training)), validation_(std::move(validation)), settings_(settings) {
  arrange(training_.windows.texts.lengths(), validation_.windows.texts.lengths(), settings.batches);
}

BatchShape TagData::shape_of(const LengthBatches::Bucket& bucket) const { return text_shape(bucket, settings_.inputs); }

DataBatch TagData::assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                            int64_t) const {
  const Split& from = split == LengthData::Split::training ? training_ : validation_;
  DataBatch batch = text_batch(shape, from.windows.texts, examples, settings_.inputs);
  std::vector<int32_t> targets(static_cast<size_t>(shape.rows * shape.positions), ignored_target);
  for (size_t row = 0; row < examples.size(); ++row) {
    const WordWindows::Window& window = from.windows.windows[examples[row]];
    const size_t first = row * static_cast<size_t>(shape.positions);
    for (size_t word = 0; word < window.positions.size(); ++word)
      targets[first + static_cast<size_t>(window.positions[word])] =
          from.classes[window.text][window.first_word + word];
  }
  batch.inputs.emplace_back("targets", std::move(targets));
  return batch;
}

}  // namespace vkformer
