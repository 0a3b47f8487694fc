#include "models/data/token_texts.h"

#include <algorithm>
#include <numeric>

#include "runtime/check.h"

namespace vkformer {

void TokenTexts::add(const Tokenizer& tokenizer, std::string_view first, std::optional<std::string_view> second,
                     int64_t most, std::string_view place, Tokenizer::Shorten which) {
  Tokenizer::Cut text = tokenizer.encode_within(most, first, second, which);
  check(!text.encoding.ids.empty(), "{}: the text is empty, and the tokenizer puts nothing around it; leave it out",
        place);
  ids.push_back(std::move(text.encoding.ids));
  segments.push_back(std::move(text.encoding.type_ids));
  cut += text.was_longer;
}

void TokenTexts::fill_last(int32_t id, int64_t length) {
  ids.back().resize(static_cast<size_t>(length), id);
  segments.back().resize(static_cast<size_t>(length), 0);
}

std::vector<ExampleLength> TokenTexts::lengths() const {
  std::vector<ExampleLength> lengths;
  for (const auto& text : ids) lengths.push_back({.source = 0, .target = std::ssize(text)});
  return lengths;
}

int64_t TokenTexts::tokens() const {
  return std::accumulate(ids.begin(), ids.end(), int64_t{0},
                         [](int64_t sum, const std::vector<int32_t>& text) { return sum + std::ssize(text); });
}

int32_t TokenTexts::largest_segment() const {
  int32_t largest = 0;
  for (const auto& types : segments)
    for (int32_t type : types) largest = std::max(largest, type);
  return largest;
}

int64_t TokenTexts::repeated() const {
  std::vector<size_t> order(ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto text = [this](size_t i) -> const std::vector<int32_t>& { return ids[i]; };
  std::ranges::sort(order, {}, text);
  return std::ssize(std::ranges::unique(order, {}, text));
}

TextInputs text_inputs(const Model& model, int32_t largest_segment) {
  const bool segments = model.segments > 1 && largest_segment > 0;
  check(!segments || largest_segment < model.segments, "the tokenizer gives token type {}, the model has {} types",
        largest_segment, model.segments);
  return {.padding = static_cast<int32_t>(std::max<int64_t>(model.padding, 0)),
          .padding_in_front = model.padding_in_front,
          .segments = segments,
          .shapes = nullptr};
}

LengthBatches shapes_by_length(std::span<const ExampleLength> lengths, int64_t positions) {
  return LengthBatches(lengths, {.positions = positions, .most_shapes = 4, .padding = 0.1});
}

BatchShape text_shape(const LengthBatches::Bucket& bucket, const TextInputs& inputs) {
  return {.rows = bucket.rows, .positions = bucket.length, .mask = true, .segments = inputs.segments};
}

DataBatch text_batch(const BatchShape& shape, const TokenTexts& texts, std::span<const uint32_t> examples,
                     const TextInputs& inputs) {
  const auto size = static_cast<size_t>(shape.rows * shape.positions);
  std::vector<int32_t> ids(size, inputs.padding), mask(size, 0), segments(inputs.segments ? size : 0, 0);
  int64_t tokens = 0;
  for (size_t row = 0; row < examples.size(); ++row) {
    const std::vector<int32_t>& text = texts.ids[examples[row]];
    auto first = static_cast<std::ptrdiff_t>(row) * shape.positions;
    if (inputs.padding_in_front) first += shape.positions - std::ssize(text);
    std::ranges::copy(text, ids.begin() + first);
    std::fill_n(mask.begin() + first, text.size(), 1);
    if (inputs.segments) std::ranges::copy(texts.segments[examples[row]], segments.begin() + first);
    tokens += std::ssize(text);
  }
  DataBatch batch{.shape = shape, .inputs = {{"ids", std::move(ids)}, {"mask", std::move(mask)}}, .tokens = tokens};
  if (inputs.segments) batch.inputs.emplace_back("segments", std::move(segments));
  return batch;
}

void for_batches_by_length(
    const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
    const std::function<void(const DataBatch& batch, std::span<const uint32_t> examples)>& take) {
  if (texts.ids.empty()) return;
  const std::vector<ExampleLength> lengths = texts.lengths();
  const LengthBatches batches = inputs.shapes ? *inputs.shapes : shapes_by_length(lengths, positions);
  for (const LengthBatches::Batch& batch : batches.in_order(lengths)) {
    const BatchShape shape = text_shape(batches.buckets()[batch.bucket], inputs);
    take(text_batch(shape, texts, batch.examples, inputs), batch.examples);
  }
}

}  // namespace vkformer
