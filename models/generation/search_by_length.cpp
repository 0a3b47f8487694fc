#include "models/generation/search_by_length.h"

#include <algorithm>

#include "models/data/length_batches.h"
#include "runtime/check.h"

namespace vkformer {

void SearchByLength::run(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
                         const std::vector<std::vector<int32_t>>& sources,
                         const std::function<void(size_t source, std::vector<Hypothesis> best)>& take) const {
  check(model.has_encoder(), "this {} model has no encoder", model.family);
  if (sources.empty()) return;
  std::vector<ExampleLength> lengths;
  for (const auto& ids : sources) lengths.push_back({.source = 0, .target = std::ssize(ids)});
  const int64_t beams = std::max<int64_t>(config.num_beams, 1);
  const LengthBatches batches(lengths, {.positions = positions / beams, .most_shapes = most_lengths, .padding = 0.1});
  const LengthBatches::Bucket* recorded = nullptr;
  std::unique_ptr<Generator> generator;
  for (const LengthBatches::Batch& batch : batches.in_order(lengths)) {
    const LengthBatches::Bucket& bucket = batches.buckets()[batch.bucket];
    // The last batch of a length is filled up with its first source.
    std::vector<std::vector<int32_t>> given(static_cast<size_t>(bucket.rows), sources[batch.examples.front()]);
    for (size_t i = 0; i < batch.examples.size(); ++i) given[i] = sources[batch.examples[i]];
    const auto most_of = [&](int64_t length) {
      const auto most = static_cast<int64_t>(factor * static_cast<double>(length)) + more;
      return model.context > 0 ? std::min(most, model.context - 1) : most;
    };
    GenerationConfig limited = config;
    std::vector<int64_t> limits;  // a source is written to as if it were alone
    if (!config.has_length()) {
      limited.max_new_tokens = most_of(bucket.length);
      for (const auto& ids : given) limits.push_back(most_of(std::ssize(ids)));
    }
    PreparedSearch prepared = prepare_search(model, limited, std::move(given), bucket.length);
    for (int64_t i = 0; i < std::ssize(limits); ++i) prepared.search->limit(i, limits[static_cast<size_t>(i)]);
    for (size_t i = 0; i < batch.examples.size(); ++i)
      prepared.search->set_number(static_cast<int64_t>(i), batch.examples[i]);
    prepared.shape.cache_type = cache_type;
    if (recorded != &bucket) {
      if (generator && ran) ran(*generator, recorded->rows, recorded->length);
      generator.reset();  // its memory is free before more is taken
      generator = std::make_unique<Generator>(backend, model, weights, prepared.shape);
      generator->prepare(prepared.prompt);
      recorded = &bucket;
    }
    run_search(*generator, prepared, [this](std::span<const float>) {
      if (on_step) on_step();
    });
    std::vector<std::vector<Hypothesis>> results = prepared.search->results();
    for (size_t i = 0; i < batch.examples.size(); ++i) take(batch.examples[i], std::move(results[i]));
  }
  if (ran) ran(*generator, recorded->rows, recorded->length);
}

}  // namespace vkformer
