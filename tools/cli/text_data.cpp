#include "tools/cli/text_data.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/random.h"

namespace vkformer {

std::string TextData::read(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const auto bytes = mapped.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

TextData::TextData(std::vector<int32_t> ids, double validation_fraction, int64_t context)
    : ids_(std::move(ids)), context_(context) {
  const auto total = static_cast<int64_t>(ids_.size());
  const auto validation = static_cast<int64_t>(static_cast<double>(total) * validation_fraction);
  training_tokens_ = total - validation;
  check(training_tokens_ > context_,
        "the text has {} tokens for training, one context needs {}; use a longer text or a smaller --context",
        training_tokens_, context_ + 1);
  check(validation_fraction == 0 || validation > context_,
        "the text has {} tokens for validation, one context needs {}; use a longer text, a smaller --context, or "
        "--validation-fraction 0 for none",
        validation, context_ + 1);
}

void TextData::append(Batch& batch, int64_t start) const {
  const auto from = ids_.begin() + start;
  batch.ids.insert(batch.ids.end(), from, from + context_);
  batch.targets.insert(batch.targets.end(), from + 1, from + context_ + 1);
}

Batch TextData::training_batch(uint32_t seed, int64_t iteration, int64_t rows) const {
  constexpr uint32_t data_stream = 0x64617461;
  Batch batch;
  const auto choices = static_cast<uint64_t>(training_tokens_ - context_);
  for (int64_t row = 0; row < rows; ++row) {
    const auto words = philox4x32_10({static_cast<uint32_t>(row), static_cast<uint32_t>(iteration),
                                      static_cast<uint32_t>(static_cast<uint64_t>(iteration) >> 32), 0},
                                     {seed, data_stream});
    append(batch, static_cast<int64_t>((uint64_t{words[0]} << 32 | words[1]) % choices));
  }
  return batch;
}

int64_t TextData::validation_windows() const {
  const auto tokens = static_cast<int64_t>(ids_.size()) - training_tokens_;
  return tokens > context_ ? (tokens - 1) / context_ : 0;
}

Batch TextData::validation_batch(int64_t first, int64_t count, int64_t rows) const {
  const int64_t windows = validation_windows();
  Batch batch;
  for (int64_t i = first; i < first + rows; ++i) {
    append(batch, training_tokens_ + std::min(i, count - 1) * windows / count * context_);
    if (i >= count) std::fill(batch.targets.end() - context_, batch.targets.end(), -100);
  }
  return batch;
}

}  // namespace vkformer
