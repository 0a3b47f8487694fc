#include "models/filling/masked_words.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "models/classification/batch_logits.h"
#include "models/families/registry.h"
#include "models/generation/beam_search.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "shaders/embedding/embedding.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

MaskedWords::MaskedWords(Backend& backend, const Model& model, std::shared_ptr<Store> store,
                         std::shared_ptr<Workspace> workspace)
    : backend_(backend), model_(model), store_(std::move(store)), workspace_(std::move(workspace)) {
  check(predicts_masked_words(model), "this {} model predicts no masked words; train one with --masked", model.family);
}

Program& MaskedWords::program(const BatchShape& shape, int64_t places, bool likeliest) {
  for (const Recorded& known : programs_)
    if (known.shape == shape && known.places == places && known.likeliest == likeliest) return *known.program;
  Graph graph;
  const Pass pass = add_inputs(graph, model_, shape);
  const Value hidden = model_.hidden(graph, pass);
  const Shape rows{shape.rows * shape.positions, graph.shape(hidden).columns()};
  // The head, which is as wide as the vocabulary, only for what is asked for.
  const Value chosen = embedding(graph, reshape(graph, hidden, rows), graph.input("places", {places}, DType::i32));
  mark_results(graph, model_.head(graph, pass, chosen), likeliest);
  graph = as_stored(std::move(graph), model_, backend_.facts());
  programs_.push_back({shape, places, likeliest, backend_.compile(std::move(graph), store_, {}, workspace_)});
  return *programs_.back().program;
}

Program& MaskedWords::run(const DataBatch& batch, std::span<const int32_t> places, bool likeliest) {
  Feed feed = inputs_of(model_, batch);
  std::vector<int32_t> filled(places.begin(), places.end());
  filled.resize(std::bit_ceil(places.size()), 0);
  feed.emplace_back("places", filled);
  Program& chosen = program(batch.shape, std::ssize(filled), likeliest);
  write_feed(chosen, feed);
  chosen.run();
  return chosen;
}

std::vector<float> MaskedWords::logits(const DataBatch& batch, std::span<const int32_t> places) {
  if (places.empty()) return {};
  std::vector<float> logits = run(batch, places, false).read("logits");
  logits.resize(logits.size() / std::bit_ceil(places.size()) * places.size());
  check_results(logits, logits.size() / places.size());
  return logits;
}

std::vector<int32_t> MaskedWords::likeliest(const DataBatch& batch, std::span<const int32_t> places) {
  if (places.empty()) return {};
  std::vector<int32_t> ids = read_likeliest(run(batch, places, true));
  ids.resize(places.size());
  return ids;
}

std::vector<std::pair<std::string, const Program*>> MaskedWords::programs() const {
  std::vector<std::pair<std::string, const Program*>> named;
  for (const Recorded& recorded : programs_)
    named.emplace_back(fmt::format("{} at {} places", batch_text(recorded.shape), recorded.places),
                       recorded.program.get());
  return named;
}

std::vector<WordCandidate> likeliest_words(std::span<const float> logits, size_t most) {
  std::vector<double> logarithms(logits.size());
  log_softmax(logits, logarithms);
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(most, ids.size()));
  std::ranges::partial_sort(ids, end, {}, [&](int32_t id) { return std::pair(-logits[static_cast<size_t>(id)], id); });
  std::vector<WordCandidate> best;
  for (auto id = ids.begin(); id != end; ++id) best.push_back({*id, std::exp(logarithms[static_cast<size_t>(*id)])});
  return best;
}

void fill_by_length(MaskedWords& words, const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                    int32_t mask, size_t most,
                    const std::function<void(size_t text, const MaskCandidates& candidates)>& take) {
  for_batches_by_length(texts, inputs, positions, [&](const DataBatch& batch, std::span<const uint32_t> examples) {
    const std::vector<int32_t>& ids = batch.values("ids");
    std::vector<int32_t> places;
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids[i] == mask) places.push_back(static_cast<int32_t>(i));
    const std::vector<float> logits = words.logits(batch, places);
    const size_t vocabulary = logits.size() / std::max<size_t>(places.size(), 1);
    std::vector<MaskCandidates> rows(examples.size());
    for (size_t i = 0; i < places.size(); ++i)
      rows[static_cast<size_t>(places[i] / batch.shape.positions)].push_back(
          likeliest_words(std::span(logits).subspan(i * vocabulary, vocabulary), most));
    for (size_t row = 0; row < rows.size(); ++row) take(examples[row], rows[row]);
  });
}

}  // namespace vkformer
