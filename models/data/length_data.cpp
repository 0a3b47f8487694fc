#include "models/data/length_data.h"

#include <fmt/core.h>

#include <algorithm>

namespace vkformer {

void LengthData::arrange(std::span<const ExampleLength> training, std::span<const ExampleLength> validation,
                         const LengthBatches::Settings& settings) {
  batches_ = std::make_unique<LengthBatches>(training, settings);
  batches_->make_room(validation);
  validation_ = batches_->in_order(validation);
}

std::vector<BatchShape> LengthData::shapes() const {
  std::vector<BatchShape> shapes;
  for (const LengthBatches::Bucket& bucket : batches_->buckets())
    if (!bucket.examples.empty()) shapes.push_back(shape_of(bucket));
  const auto positions = [](const BatchShape& s) { return s.rows * (s.positions + s.source_positions); };
  std::ranges::stable_sort(shapes, std::greater(), positions);
  return shapes;
}

std::vector<BatchShape> LengthData::validation_shapes() const {
  const LengthBatches::Bucket& longest = batches_->buckets().back();
  return longest.examples.empty() ? std::vector{shape_of(longest)} : std::vector<BatchShape>();
}

std::string LengthData::describe(std::string_view examples) const {
  std::string text = fmt::format("{} shapes of batches, {} batches an epoch, {:.1f} % of their positions are padding",
                                 batches_->buckets().size(), epoch(), 100 * batches_->padding());
  for (const LengthBatches::Bucket& bucket : batches_->buckets())
    text += fmt::format("\n  {:>4} positions x {:>4} rows: {}", bucket.length, shape_of(bucket).rows,
                        bucket.examples.empty() ? "longer ones, of validation"
                                                : fmt::format("{} {}", bucket.examples.size(), examples));
  return text;
}

DataBatch LengthData::assemble_batch(const LengthBatches::Batch& batch, Split split, int64_t number) const {
  return assemble(shape_of(batches_->buckets()[batch.bucket]), split, batch.examples, number);
}

DataBatch LengthData::training_batch(int64_t number) const {
  return assemble_batch(batches_->batch(number), Split::training, number);
}

DataBatch LengthData::validation_batch(int64_t index, int64_t count) const {
  const int64_t place = index * validation_batches() / count;
  return assemble_batch(validation_[static_cast<size_t>(place)], Split::validation, -1 - place);
}

}  // namespace vkformer
