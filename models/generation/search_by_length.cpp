#include "models/generation/search_by_length.h"

#include <algorithm>

#include "models/data/length_batches.h"
#include "runtime/check.h"

namespace vkformer {

void SearchByLength::run(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
                         const std::vector<std::vector<int32_t>>& sources,
                         const std::function<void(size_t source, std::vector<Hypothesis> best)>& take) const {
  Kept none;
  run(backend, model, weights, sources, take, none);
  leave(none);
}

void SearchByLength::leave(Kept& kept) const {
  for (const auto& [shape, generator] : kept.generators)
    if (ran) ran(*generator, generator->shape().sources, generator->shape().source_positions);
  kept.generators.clear();
}

Generator& SearchByLength::generator(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
                                     const PreparedSearch& prepared, size_t shape, Kept& kept) const {
  if (const auto known = kept.generators.find(shape); known != kept.generators.end()) return *known->second;
  const auto record = [&]() -> Generator& {
    auto made = std::make_unique<Generator>(backend, model, weights, prepared.shape, kept.workspace);
    made->prepare(prepared.prompt);
    return *(kept.generators[shape] = std::move(made));
  };
  if (!kept.shapes) leave(kept);  // its memory is free before more is taken
  if (kept.generators.empty()) return record();
  try {
    return record();
  } catch (const Error&) {  // not enough memory for all
    leave(kept);
    return record();
  }
}

void SearchByLength::run(Backend& backend, const Model& model, const std::shared_ptr<Store>& weights,
                         const std::vector<std::vector<int32_t>>& sources,
                         const std::function<void(size_t source, std::vector<Hypothesis> best)>& take,
                         Kept& kept) const {
  check(model.has_encoder(), "this {} model has no encoder", model.family);
  if (sources.empty()) return;
  std::vector<ExampleLength> lengths;
  for (const auto& ids : sources) lengths.push_back({.source = 0, .target = std::ssize(ids)});
  const LengthBatches batches =
      kept.shapes ? *kept.shapes
                  : LengthBatches(
                        lengths, {.positions = positions / config.rows(), .most_shapes = most_lengths, .padding = 0.1});
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
      prepared.search->set_number(static_cast<int64_t>(i), kept.sources + batch.examples[i]);
    prepared.shape.cache_type = cache_type;
    run_search(generator(backend, model, weights, prepared, batch.bucket, kept), prepared,
               [this](std::span<const float>) {
                 if (on_step) on_step();
               });
    std::vector<std::vector<Hypothesis>> results = prepared.search->results();
    for (size_t i = 0; i < batch.examples.size(); ++i) take(batch.examples[i], std::move(results[i]));
  }
  kept.sources += sources.size();
}

}  // namespace vkformer
