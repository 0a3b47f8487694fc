#include "models/data/window_data.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

TextSplit split_text(std::vector<int32_t> ids, double validation_fraction) {
  auto validation = static_cast<std::ptrdiff_t>(static_cast<double>(ids.size()) * validation_fraction);
  // A share too small for a token is refused as too short, not taken for none.
  if (validation_fraction > 0 && !ids.empty()) validation = std::max<std::ptrdiff_t>(validation, 1);
  TextSplit split;
  split.validation.assign(ids.end() - validation, ids.end());
  ids.resize(ids.size() - split.validation.size());
  split.training = std::move(ids);
  return split;
}

WindowData::WindowData(TextSplit text, int64_t length, int64_t stride, const BatchShape& shape,
                       const Settings& settings)
    : text_(std::move(text)), length_(length), stride_(stride), shape_(shape), settings_(settings) {
  check(std::ssize(text_.training) >= length,
        "the text has {} tokens for training, one context needs {}; use a longer text or a smaller --context",
        text_.training.size(), length);
  check(text_.validation.empty() || std::ssize(text_.validation) >= length,
        "the text has {} tokens for validation, one context needs {}; use a longer text, a smaller --context, or no "
        "validation (--validation-fraction 0 without --valid)",
        text_.validation.size(), length);
}

DataBatch WindowData::training_batch(int64_t number) const {
  constexpr uint32_t data_stream = 0x64617461;
  const auto iteration = static_cast<uint64_t>(number / settings_.accumulate + 1);
  const int64_t first = number % settings_.accumulate * settings_.rows;
  const uint64_t choices = text_.training.size() - static_cast<size_t>(length_) + 1;
  std::vector<Window> windows;
  for (int64_t row = 0; row < settings_.rows; ++row) {
    const auto words = philox4x32_10({static_cast<uint32_t>(first + row), static_cast<uint32_t>(iteration),
                                      static_cast<uint32_t>(iteration >> 32), 0},
                                     {settings_.seed, data_stream});
    const size_t start = (uint64_t{words[0]} << 32 | words[1]) % choices;
    windows.push_back({std::span(text_.training).subspan(start, static_cast<size_t>(length_)),
                       static_cast<uint64_t>(number * settings_.rows + row)});
  }
  return assemble(windows);
}

int64_t WindowData::validation_windows() const {
  const int64_t tokens = std::ssize(text_.validation);
  return tokens >= length_ ? (tokens - length_) / stride_ + 1 : 0;
}

int64_t WindowData::validation_batches() const { return (validation_windows() + settings_.rows - 1) / settings_.rows; }

DataBatch WindowData::validation_batch(int64_t index, int64_t count) const {
  constexpr uint64_t validation_examples = uint64_t{1} << 63;
  const int64_t all = validation_windows(), used = std::min(all, count * settings_.rows);
  const int64_t first = index * settings_.rows;
  std::vector<Window> windows;
  for (int64_t i = first; i < first + settings_.rows; ++i) {
    const int64_t place = std::min(i, used - 1) * all / used;
    windows.push_back(
        {std::span(text_.validation).subspan(static_cast<size_t>(place * stride_), static_cast<size_t>(length_)),
         validation_examples | static_cast<uint64_t>(place)});
  }
  DataBatch batch = assemble(windows);
  std::vector<int32_t>& targets = batch.inputs.back().second;
  const int64_t whole = std::clamp<int64_t>(used - first, 0, settings_.rows);
  std::fill(targets.begin() + whole * std::ssize(targets) / settings_.rows, targets.end(), ignored_target);
  return batch;
}

}  // namespace vkformer
