#include "models/data/text_windows.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

TextWindows::TextWindows(TokenSequence ids, const Settings& settings) : ids_(std::move(ids)), settings_(settings) {
  const auto validation = static_cast<int64_t>(static_cast<double>(size()) * settings.validation_fraction);
  training_tokens_ = size() - validation;
  check(training_tokens_ > settings.context,
        "the text has {} tokens for training, one context needs {}; use a longer text or a smaller --context",
        training_tokens_, settings.context + 1);
  check(settings.validation_fraction == 0 || validation > settings.context,
        "the text has {} tokens for validation, one context needs {}; use a longer text, a smaller --context, or "
        "--validation-fraction 0 for none",
        validation, settings.context + 1);
}

std::vector<BatchShape> TextWindows::shapes() const {
  return {{.rows = settings_.rows, .positions = settings_.context}};
}

DataBatch TextWindows::batch(const std::vector<int64_t>& starts) const {
  std::vector<int32_t> ids, targets, window(static_cast<size_t>(settings_.context) + 1);
  for (int64_t start : starts) {
    ids_.read(start, window);
    ids.insert(ids.end(), window.begin(), window.end() - 1);
    targets.insert(targets.end(), window.begin() + 1, window.end());
  }
  const auto tokens = static_cast<int64_t>(ids.size());
  return {.shape = shapes().front(),
          .inputs = {{"ids", std::move(ids)}, {"targets", std::move(targets)}},
          .tokens = tokens};
}

DataBatch TextWindows::training_batch(int64_t number) const {
  constexpr uint32_t data_stream = 0x64617461;
  const auto iteration = static_cast<uint64_t>(number / settings_.accumulate + 1);
  const int64_t first = number % settings_.accumulate * settings_.rows;
  const auto choices = static_cast<uint64_t>(training_tokens_ - settings_.context);
  std::vector<int64_t> starts;
  for (int64_t row = first; row < first + settings_.rows; ++row) {
    const auto words = philox4x32_10(
        {static_cast<uint32_t>(row), static_cast<uint32_t>(iteration), static_cast<uint32_t>(iteration >> 32), 0},
        {settings_.seed, data_stream});
    starts.push_back(static_cast<int64_t>((uint64_t{words[0]} << 32 | words[1]) % choices));
  }
  return batch(starts);
}

int64_t TextWindows::epoch() const {
  const int64_t tokens = settings_.rows * settings_.context;
  return (training_tokens_ + tokens - 1) / tokens;
}

int64_t TextWindows::validation_windows() const {
  const int64_t tokens = size() - training_tokens_;
  return tokens > settings_.context ? (tokens - 1) / settings_.context : 0;
}

int64_t TextWindows::validation_batches() const { return (validation_windows() + settings_.rows - 1) / settings_.rows; }

DataBatch TextWindows::validation_batch(int64_t index, int64_t count) const {
  const int64_t windows = validation_windows(), used = std::min(windows, count * settings_.rows);
  const int64_t first = index * settings_.rows;
  std::vector<int64_t> starts;
  for (int64_t i = first; i < first + settings_.rows; ++i)
    starts.push_back(training_tokens_ + std::min(i, used - 1) * windows / used * settings_.context);
  DataBatch chosen = batch(starts);
  std::vector<int32_t>& targets = chosen.inputs.back().second;
  const int64_t whole = std::clamp<int64_t>(used - first, 0, settings_.rows) * settings_.context;
  std::fill(targets.begin() + whole, targets.end(), ignored_target);
  return chosen;
}

}  // namespace vkformer
