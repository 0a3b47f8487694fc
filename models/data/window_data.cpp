#include "models/data/window_data.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

TextSplit split_text(const TokenSequence& ids, double validation_fraction) {
  auto validation = static_cast<int64_t>(static_cast<double>(ids.size()) * validation_fraction);
  // A share too small for a token is refused as too short, not taken for none.
  if (validation_fraction > 0 && ids.size() > 0) validation = std::max<int64_t>(validation, 1);
  const int64_t training = ids.size() - validation;
  return {.training = ids.part(0, training), .validation = ids.part(training, validation)};
}

WindowData::WindowData(TextSplit text, int64_t length, int64_t stride, const BatchShape& shape,
                       const Settings& settings)
    : text_(std::move(text)), length_(length), stride_(stride), shape_(shape), settings_(settings) {
  check(text_.training.size() >= length,
        "the text has {} tokens for training, one context needs {}; use a longer text or a smaller --context",
        text_.training.size(), length);
  check(text_.validation.size() == 0 || text_.validation.size() >= length,
        "the text has {} tokens for validation, one context needs {}; use a longer text, a smaller --context, or no "
        "validation (--validation-fraction 0 without --valid)",
        text_.validation.size(), length);
}

DataBatch WindowData::training_batch(int64_t number) const {
  constexpr uint32_t data_stream = 0x64617461;
  const auto iteration = static_cast<uint64_t>(number / settings_.accumulate + 1);
  const int64_t first = number % settings_.accumulate * settings_.rows;
  const auto choices = static_cast<uint64_t>(text_.training.size() - length_ + 1);
  std::vector<Window> windows;
  for (int64_t row = 0; row < settings_.rows; ++row) {
    const auto words = philox4x32_10({static_cast<uint32_t>(first + row), static_cast<uint32_t>(iteration),
                                      static_cast<uint32_t>(iteration >> 32), 0},
                                     {settings_.seed, data_stream});
    const auto start = static_cast<int64_t>((uint64_t{words[0]} << 32 | words[1]) % choices);
    windows.push_back(window(text_.training, start, static_cast<uint64_t>(number * settings_.rows + row)));
  }
  return assemble(windows);
}

WindowData::Window WindowData::window(const TokenSequence& text, int64_t start, uint64_t example) const {
  Window window{.tokens = std::vector<int32_t>(static_cast<size_t>(length_)), .example = example};
  text.read(start, window.tokens);
  return window;
}

int64_t WindowData::epoch() const {
  const int64_t tokens = settings_.rows * stride_;
  return (text_.training.size() + tokens - 1) / tokens;
}

int64_t WindowData::validation_windows() const {
  const int64_t tokens = text_.validation.size();
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
    windows.push_back(window(text_.validation, place * stride_, validation_examples | static_cast<uint64_t>(place)));
  }
  DataBatch batch = assemble(windows);
  std::vector<int32_t>& targets = batch.inputs.back().second;
  const int64_t whole = std::clamp<int64_t>(used - first, 0, settings_.rows);
  std::fill(targets.begin() + whole * std::ssize(targets) / settings_.rows, targets.end(), ignored_target);
  return batch;
}

}  // namespace vkformer
