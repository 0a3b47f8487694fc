#include "models/data/text_data.h"

#include <algorithm>

namespace vkformer {

TextData::TextData(Split training, Split validation, const Settings& settings)
    : training_(std::move(training)), validation_(std::move(validation)), settings_(settings) {
  arrange(training_.texts.lengths(), validation_.texts.lengths(), settings.batches);
}

BatchShape TextData::shape_of(const LengthBatches::Bucket& bucket) const {
  return text_shape(bucket, settings_.inputs);
}

DataBatch TextData::assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                             int64_t) const {
  const Split& from = split == LengthData::Split::training ? training_ : validation_;
  DataBatch batch = text_batch(shape, from.texts, examples, settings_.inputs);
  const int64_t each = settings_.targets > 0 ? settings_.targets : shape.positions;
  std::vector<int32_t> targets(static_cast<size_t>(shape.rows * each), ignored_target);
  for (size_t row = 0; row < examples.size(); ++row)
    std::ranges::copy(from.targets[examples[row]], targets.begin() + static_cast<int64_t>(row) * each);
  batch.inputs.emplace_back("targets", std::move(targets));
  if (from.wanted.empty()) return batch;
  std::vector<float> wanted(static_cast<size_t>(shape.rows * each), 0), shares(wanted.size(), 0);
  const size_t counted = examples.size() * static_cast<size_t>(each);
  std::fill_n(shares.begin(), counted, 1 / static_cast<float>(counted));
  for (size_t row = 0; row < examples.size(); ++row)
    std::ranges::copy(from.wanted[examples[row]], wanted.begin() + static_cast<int64_t>(row) * each);
  batch.floats = {{"wanted", std::move(wanted)}, {"shares", std::move(shares)}};
  return batch;
}

}  // namespace vkformer
