#include "models/data/preference_data.h"

#include "runtime/hash.h"

namespace vkformer {

namespace {

std::vector<ExampleLength> lengths_of(const std::vector<TextPair>& pairs) {
  std::vector<ExampleLength> lengths;
  for (const TextPair& pair : pairs)
    lengths.push_back({.source = 0, .target = std::max(std::ssize(pair[0].ids), std::ssize(pair[1].ids)) - 1});
  return lengths;
}

}  // namespace

PreferenceData::PreferenceData(std::vector<TextPair> training, std::vector<TextPair> validation,
                               const Settings& settings)
    : pairs_{std::move(training), std::move(validation)}, preference_(settings.preference) {
  arrange(
      lengths_of(pairs(Split::training)), lengths_of(pairs(Split::validation)),
      {.positions = std::max<int64_t>(1, settings.positions / 2), .most_rows = settings.pairs, .seed = settings.seed});
}

BatchShape PreferenceData::shape_of(const LengthBatches::Bucket& bucket) const {
  return {.rows = 2 * bucket.rows, .positions = bucket.length};
}

DataBatch PreferenceData::assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                                   int64_t) const {
  const auto rows = static_cast<size_t>(shape.rows), positions = static_cast<size_t>(shape.positions);
  // What comes behind a text is padding, which nothing before it sees.
  std::vector<int32_t> ids(rows * positions, 0), labels(rows * positions, ignored_target);
  std::vector<int32_t> targets(rows / 2, ignored_target);
  std::vector<float> likelihoods(rows, 0);
  DataBatch batch{.shape = shape};
  for (size_t i = 0; i < examples.size(); ++i) {
    targets[i] = 0;
    for (size_t side = 0; side < 2; ++side) {
      const LearnedText& text = pairs(split)[examples[i]][side];
      const size_t first = (2 * i + side) * positions;
      for (size_t t = 0; t + 1 < text.ids.size(); ++t) {
        ids[first + t] = text.ids[t];
        if (text.learned[t + 1] != 0) labels[first + t] = text.ids[t + 1];
      }
      if (!reference(split).empty()) likelihoods[2 * i + side] = reference(split)[examples[i]][side];
      batch.tokens += std::ssize(text.ids) - 1;
    }
  }
  if (preference_.per_token()) {
    std::vector<float> per_token(rows, 0);
    for (size_t row = 0; row < 2 * examples.size(); ++row) {
      const std::span own = std::span(labels).subspan(row * positions, positions);
      const auto count = static_cast<float>(own.size() - static_cast<size_t>(std::ranges::count(own, ignored_target)));
      per_token[row] = 1 / count;
      if (!preference_.compares() && row % 2 == 0)
        likelihoods[row] = count * static_cast<float>(preference_.margin / preference_.beta);
    }
    batch.floats.emplace_back("per_token", std::move(per_token));
  }
  if (preference_.loss == Preference::Loss::ipo) {
    std::vector<float> shares(rows / 2, 0);
    std::fill_n(shares.begin(), examples.size(), 1 / static_cast<float>(examples.size()));
    batch.floats.emplace_back("shares", std::move(shares));
    batch.floats.emplace_back("wanted", std::vector(rows / 2, static_cast<float>(1 / (2 * preference_.beta))));
  }
  batch.inputs = {{"ids", std::move(ids)}, {"labels", std::move(labels)}, {"targets", std::move(targets)}};
  batch.floats.emplace_back("reference", std::move(likelihoods));
  return batch;
}

void PreferenceData::for_batches(
    Split split, const std::function<void(const DataBatch& batch, std::span<const uint32_t> pairs)>& take) const {
  for (const LengthBatches::Batch& batch : batches().in_order(lengths_of(pairs(split))))
    take(assemble(shape_of(batches().buckets()[batch.bucket]), split, batch.examples, 0), batch.examples);
}

uint64_t PreferenceData::fingerprint() const {
  uint64_t hash = hash_start;
  for (const std::vector<TextPair>& split : pairs_)
    for (const TextPair& pair : split)
      for (const LearnedText& text : pair) {
        hash = hash_step(hash, text.ids.size());
        for (const int32_t id : text.ids) hash = hash_step(hash, static_cast<uint32_t>(id));
        for (const uint8_t learned : text.learned) hash = hash_step(hash, learned);
      }
  return hash;
}

}  // namespace vkformer
