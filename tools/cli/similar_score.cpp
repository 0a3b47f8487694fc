#include "tools/cli/similar_score.h"

#include <algorithm>
#include <map>

#include "models/embedding/embedder.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

Retrieval retrieval_of(std::span<const uint32_t> same, int64_t each, std::span<const int64_t> rows) {
  Retrieval search;
  std::map<uint32_t, uint32_t> queries, texts;  // places by number
  const auto place_of = [&](std::map<uint32_t, uint32_t>& known, std::vector<uint32_t>& places, int64_t text) {
    const auto [found, is_new] = known.emplace(same[static_cast<size_t>(text)], static_cast<uint32_t>(places.size()));
    if (is_new) places.push_back(static_cast<uint32_t>(text));
    return found->second;
  };
  for (const int64_t row : rows) {
    const uint32_t query = place_of(queries, search.queries, row * each);
    search.wanted.resize(search.queries.size());
    for (int64_t text = 1; text < each; ++text) {
      const uint32_t place = place_of(texts, search.texts, row * each + text);
      if (text == 1) search.wanted[query].push_back(place);
    }
  }
  return search;
}

std::string text_of(const RetrievalScores& scores) {
  return fmt::format("accuracy@1 {:.2f} %, MRR@10 {:.4f}", 100 * scores.accuracy_at_1, scores.mrr);
}

JobScores SimilarScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  const SimilarTexts& rows = data_.texts(LengthData::Split::validation);
  const int64_t all = rows.rows(), used = whole_split ? all : std::min(all, rows_);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < used; ++i) chosen.push_back(i * all / used);
  const Retrieval search = retrieval_of(data_.identities(LengthData::Split::validation), rows.each, chosen);

  TokenTexts texts;
  for (const std::vector<uint32_t>* places : {&search.queries, &search.texts})
    for (const uint32_t place : *places) {
      texts.ids.push_back(rows.texts.ids[place]);
      texts.segments.push_back(rows.texts.segments[place]);
    }
  std::vector<std::vector<float>> vectors(texts.ids.size());
  Embedder embedder(backend, model_, trainer.shared_store(), trainer.workspace(), data_.settings().pooling);
  embed_by_length(embedder, texts, data_.settings().inputs, positions_, [&](size_t text, std::vector<float> vector) {
    interrupt_if_asked();
    vectors[text] = std::move(vector);
  });
  std::vector<int64_t> ranks;
  std::vector<double> similarities(search.texts.size());
  for (size_t query = 0; query < search.queries.size(); ++query) {
    for (size_t text = 0; text < similarities.size(); ++text)
      similarities[text] = similarity(vectors[query], vectors[search.queries.size() + text]);
    ranks.push_back(rank_of(similarities, search.wanted[query]));
  }
  const RetrievalScores scores = score_ranks(ranks);
  return {
      .values = {{"mrr", scores.mrr}, {"accuracy_at_1", scores.accuracy_at_1}},
      .notes = {{"queries", scores.queries}, {"texts", search.texts.size()}},
      .text = fmt::format("  {} of {} queries among {} texts\n", text_of(scores), scores.queries, search.texts.size())};
}

}  // namespace vkformer
