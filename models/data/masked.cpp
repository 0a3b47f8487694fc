#include "models/data/masked.h"

#include <algorithm>

#include "models/text/tokenizer.h"
#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

namespace {

using Words = std::array<uint32_t, 4>;

constexpr uint32_t masking_stream = 0x6d61736b;

template <class T>
const T& drawn_of(const std::vector<T>& all, uint32_t word) {
  return all[(uint64_t{word} * all.size()) >> 32];
}

int32_t masked_token(int32_t id, const Masking& masking, const Words& words) {
  const double kind = uniform(words[1]);
  if (kind < 0.8) return masking.mask;
  return kind < 0.9 ? drawn_of(masking.ordinary, words[2]) : id;
}

constexpr size_t whole_text = UINT32_MAX;  ///< no position

/// Hides tokens of one text. `draw(i)`: random words of its position i, or of whole_text.
template <class Draw>
void mask_text(std::span<int32_t> ids, std::span<int32_t> targets, const Masking& masking, const Draw& draw) {
  std::vector<size_t> candidates, chosen;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!masking.is_ordinary(ids[i])) continue;
    candidates.push_back(i);
    if (uniform(draw(i)[0]) < masking.share) chosen.push_back(i);
  }
  if (chosen.empty() && !candidates.empty()) chosen.push_back(drawn_of(candidates, draw(whole_text)[0]));
  for (size_t i : chosen) {
    targets[i] = ids[i];
    ids[i] = masked_token(ids[i], masking, draw(i));
  }
}

}  // namespace

bool Masking::is_ordinary(int32_t id) const { return std::ranges::binary_search(ordinary, id); }

bool Masking::applies_to(std::span<const int32_t> text) const {
  return std::ranges::any_of(text, [this](int32_t id) { return is_ordinary(id); });
}

int32_t mask_id(const Tokenizer& tokenizer, const std::string& name) {
  const auto id = tokenizer.first_known({"[MASK]", "<mask>"});
  check(id.has_value(),
        "{} has neither [MASK] nor <mask>; take a tokenizer of masked words, or make one: vkformer tokens FILE --kind "
        "bpe --layout bert --out FOLDER",
        name);
  return *id;
}

std::vector<int32_t> ordinary_ids(const Tokenizer& tokenizer, std::initializer_list<int32_t> special) {
  std::set<int32_t> left_out = tokenizer.special_ids();
  left_out.insert(special);
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.token_of(id) && !left_out.contains(id)) ids.push_back(id);
  return ids;
}

MaskedData::MaskedData(TokenTexts training, TokenTexts validation, Settings settings)
    : training_(std::move(training)), validation_(std::move(validation)), settings_(std::move(settings)) {
  arrange(training_.lengths(), validation_.lengths(), settings_.batches);
}

BatchShape MaskedData::shape_of(const LengthBatches::Bucket& bucket) const {
  return text_shape(bucket, settings_.inputs);
}

DataBatch MaskedData::assemble(const BatchShape& shape, LengthData::Split split, std::span<const uint32_t> examples,
                               int64_t number) const {
  const bool trains = split == LengthData::Split::training;
  const TokenTexts& from = trains ? training_ : validation_;
  DataBatch batch = text_batch(shape, from, examples, settings_.inputs);
  std::vector<int32_t>& ids = batch.inputs.front().second;
  std::vector<int32_t> targets(ids.size(), ignored_target);
  // Of a text that is validated on the same tokens are hidden whatever batch it is in.
  const auto counter = trains ? static_cast<uint64_t>(number) : UINT64_MAX;
  const auto width = static_cast<size_t>(shape.positions);
  for (size_t row = 0; row < examples.size(); ++row) {
    const auto draw = [&](size_t position) {
      return philox4x32_10({static_cast<uint32_t>(position), trains ? static_cast<uint32_t>(row) : examples[row],
                            static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32)},
                           {settings_.masking.seed, masking_stream});
    };
    mask_text(std::span(ids).subspan(row * width, width), std::span(targets).subspan(row * width, width),
              settings_.masking, draw);
  }
  batch.inputs.emplace_back("targets", std::move(targets));
  return batch;
}

}  // namespace vkformer
