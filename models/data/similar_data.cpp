#include "models/data/similar_data.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace vkformer {

namespace {

/// The longest text of each row.
std::vector<ExampleLength> lengths_of(const SimilarTexts& rows) {
  std::vector<ExampleLength> lengths;
  for (int64_t row = 0; row < rows.rows(); ++row) {
    int64_t longest = 0;
    for (int64_t text = 0; text < rows.each; ++text)
      longest = std::max<int64_t>(longest, std::ssize(rows.texts.ids[static_cast<size_t>(row * rows.each + text)]));
    lengths.push_back({.source = 0, .target = longest});
  }
  return lengths;
}

}  // namespace

std::vector<uint32_t> SimilarTexts::identities() const {
  std::unordered_map<std::string_view, uint32_t> numbers;
  std::vector<uint32_t> all;
  for (const std::vector<int32_t>& ids : texts.ids) {
    const std::string_view bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
    all.push_back(numbers.emplace(bytes, static_cast<uint32_t>(numbers.size())).first->second);
  }
  return all;
}

SimilarData::SimilarData(SimilarTexts training, SimilarTexts validation, const Settings& settings)
    : training_(std::move(training)),
      validation_(std::move(validation)),
      same_{training_.identities(), validation_.identities()},
      settings_(settings) {
  LengthBatches::Settings batches = settings.batches;
  batches.positions = std::max<int64_t>(1, batches.positions / training_.each);
  arrange(lengths_of(training_), lengths_of(validation_), batches);
}

BatchShape SimilarData::shape_of(const LengthBatches::Bucket& bucket) const {
  BatchShape shape = text_shape(bucket, settings_.inputs);
  shape.rows *= training_.each;
  return shape;
}

DataBatch SimilarData::assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                                int64_t) const {
  const SimilarTexts& from = texts(split);
  const std::vector<uint32_t>& same = identities(split);
  const auto each = static_cast<size_t>(from.each), rows = static_cast<size_t>(shape.rows) / each,
             texts = (each - 1) * rows;
  // Of rows past the examples the first one's texts, which are compared with nothing.
  const auto place = [&](size_t row, size_t text) { return examples[row < examples.size() ? row : 0] * each + text; };
  std::vector<uint32_t> places;
  for (size_t text = 0; text < each; ++text)
    for (size_t row = 0; row < rows; ++row) places.push_back(static_cast<uint32_t>(place(row, text)));
  DataBatch batch = text_batch(shape, from.texts, places, settings_.inputs);
  batch.tokens = 0;
  for (size_t row = 0; row < examples.size(); ++row)
    for (size_t text = 0; text < each; ++text) batch.tokens += std::ssize(from.texts.ids[place(row, text)]);

  std::vector<int32_t> targets(rows, ignored_target);
  std::vector<float> apart(rows * texts, 0);
  for (size_t row = 0; row < examples.size(); ++row) {
    targets[row] = static_cast<int32_t>(row);
    const uint32_t query = same[place(row, 0)], similar = same[place(row, 1)];
    for (size_t i = 0; i < texts; ++i) {
      const size_t other = i % rows, text = 1 + i / rows;
      const uint32_t one = same[place(other, text)];
      const bool as_similar = one == similar || one == query || (text == 1 && same[place(other, 0)] == query);
      if (other >= examples.size() || (as_similar && i != row)) apart[row * texts + i] = not_compared;
    }
  }
  batch.floats = {
      {"pooling", pooling_weights(batch.values("mask"), static_cast<size_t>(shape.positions), settings_.pooling)},
      {"apart", std::move(apart)}};
  batch.inputs.emplace_back("targets", std::move(targets));
  return batch;
}

}  // namespace vkformer
