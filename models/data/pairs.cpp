#include "models/data/pairs.h"

#include <algorithm>

namespace vkformer {

namespace {

std::vector<ExampleLength> lengths_of(const TokenPairs& pairs) {
  std::vector<ExampleLength> lengths;
  for (size_t i = 0; i < pairs.sources.size(); ++i)
    lengths.push_back({std::ssize(pairs.sources[i]), std::ssize(pairs.targets[i])});
  return lengths;
}

}  // namespace

PairData::PairData(TokenPairs training, TokenPairs validation, const Settings& settings)
    : training_(std::move(training)), validation_(std::move(validation)), settings_(settings) {
  arrange(lengths_of(training_), lengths_of(validation_), settings.batches);
}

BatchShape PairData::shape_of(const LengthBatches::Bucket& bucket) const {
  return {.rows = bucket.rows, .positions = bucket.length, .source_positions = bucket.length, .mask = true};
}

DataBatch PairData::assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples, int64_t) const {
  const TokenPairs& pairs = split == Split::training ? training_ : validation_;
  const auto size = static_cast<size_t>(shape.rows * shape.positions);
  std::vector<int32_t> source(size, settings_.padding), mask(size, 0), ids(size, settings_.padding),
      targets(size, ignored_target);
  int64_t tokens = 0;
  for (size_t row = 0; row < examples.size(); ++row) {
    const auto first = static_cast<std::ptrdiff_t>(row) * shape.positions;
    const std::vector<int32_t>&from = pairs.sources[examples[row]], &to = pairs.targets[examples[row]];
    std::ranges::copy(from, source.begin() + first);
    std::fill_n(mask.begin() + first, from.size(), 1);
    std::ranges::copy(to, targets.begin() + first);
    // The decoder reads what it has to write one position earlier.
    ids[static_cast<size_t>(first)] = settings_.decoder_start;
    std::copy(to.begin(), to.end() - 1, ids.begin() + first + 1);
    tokens += std::ssize(from) + std::ssize(to);
  }
  return {.shape = shape,
          .inputs = {{"source", std::move(source)},
                     {"source_mask", std::move(mask)},
                     {"ids", std::move(ids)},
                     {"targets", std::move(targets)}},
          .tokens = tokens};
}

}  // namespace vkformer
