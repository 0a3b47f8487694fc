#include "models/data/labelled.h"

#include <algorithm>

namespace vkformer {

LabelData::LabelData(Split training, Split validation, const Settings& settings)
    : training_(std::move(training)), validation_(std::move(validation)), settings_(settings) {
  arrange(training_.texts.lengths(), validation_.texts.lengths(), settings.batches);
}

BatchShape LabelData::shape_of(const LengthBatches::Bucket& bucket) const {
  return text_shape(bucket, settings_.inputs);
}

DataBatch LabelData::assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                              int64_t) const {
  const Split& from = split == LengthData::Split::training ? training_ : validation_;
  DataBatch batch = text_batch(shape, from.texts, examples, settings_.inputs);
  std::vector<int32_t> targets(static_cast<size_t>(shape.rows), ignored_target);
  std::ranges::transform(examples, targets.begin(), [&](uint32_t example) { return from.classes[example]; });
  batch.inputs.emplace_back("targets", std::move(targets));
  return batch;
}

}  // namespace vkformer
