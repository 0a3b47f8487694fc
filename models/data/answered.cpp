#include "models/data/answered.h"

#include <algorithm>

namespace vkformer {

AnswerData::AnswerData(Split training, Split validation, const Settings& settings)
    : training_(std::move(training)), validation_(std::move(validation)), settings_(settings) {
  arrange(training_.texts.lengths(), validation_.texts.lengths(), settings.batches);
}

BatchShape AnswerData::shape_of(const LengthBatches::Bucket& bucket) const {
  return text_shape(bucket, settings_.inputs);
}

DataBatch AnswerData::assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                               int64_t) const {
  const Split& from = split == LengthData::Split::training ? training_ : validation_;
  DataBatch batch = text_batch(shape, from.texts, examples, settings_.inputs);
  std::vector<int32_t> targets(static_cast<size_t>(2 * shape.rows), ignored_target);
  for (size_t row = 0; row < examples.size(); ++row)
    std::ranges::copy(from.ends[examples[row]], targets.begin() + static_cast<ptrdiff_t>(2 * row));
  batch.inputs.emplace_back("targets", std::move(targets));
  return batch;
}

}  // namespace vkformer
