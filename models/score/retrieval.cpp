#include "models/score/retrieval.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "models/score/words.h"

namespace vkformer {

namespace {

using Counts = std::unordered_map<std::string, double>;

Counts words_of(const std::string& text) {
  Counts counts;
  for_each_word(text, [&](const std::string& word) { ++counts[word]; });
  return counts;
}

/// Weighs the counts, and makes their length 1.
void weigh(Counts& counts, const Counts& texts_with, double texts) {
  double squares = 0;
  for (auto& [word, count] : counts) {
    const auto known = texts_with.find(word);
    count *= known == texts_with.end() ? 0 : std::log(texts / known->second);
    squares += count * count;
  }
  for (auto& [word, count] : counts) count *= squares > 0 ? 1 / std::sqrt(squares) : 0;
}

}  // namespace

RetrievalScores score_ranks(std::span<const int64_t> ranks) {
  RetrievalScores scores{.queries = std::ssize(ranks)};
  for (const int64_t rank : ranks) {
    scores.accuracy_at_1 += rank == 1 ? 1 : 0;
    scores.mrr += rank <= 10 ? 1 / static_cast<double>(rank) : 0;
  }
  const auto count = static_cast<double>(std::max<int64_t>(1, scores.queries));
  scores.accuracy_at_1 /= count;
  scores.mrr /= count;
  return scores;
}

int64_t rank_of(std::span<const double> similarities, std::span<const uint32_t> wanted) {
  double best = similarities[wanted.front()];
  for (const uint32_t text : wanted) best = std::max(best, similarities[text]);
  int64_t before = std::ranges::count_if(similarities, [&](double one) { return one >= best; });
  for (const uint32_t text : wanted) before -= similarities[text] >= best ? 1 : 0;
  return before + 1;
}

std::vector<int64_t> ranks_by_words(std::span<const std::string> queries, std::span<const std::string> texts,
                                    std::span<const std::vector<uint32_t>> wanted) {
  std::vector<Counts> weights;
  Counts texts_with;
  for (const std::string& text : texts)
    for (const auto& [word, count] : weights.emplace_back(words_of(text))) ++texts_with[word];
  std::unordered_map<std::string, std::vector<std::pair<size_t, double>>> texts_of;
  for (size_t i = 0; i < weights.size(); ++i) {
    weigh(weights[i], texts_with, static_cast<double>(texts.size()));
    for (const auto& [word, weight] : weights[i]) texts_of[word].emplace_back(i, weight);
  }
  std::vector<int64_t> ranks;
  for (size_t query = 0; query < queries.size(); ++query) {
    Counts counts = words_of(queries[query]);
    weigh(counts, texts_with, static_cast<double>(texts.size()));
    std::vector<double> similarities(texts.size(), 0);
    for (const auto& [word, weight] : counts)
      if (const auto found = texts_of.find(word); found != texts_of.end())
        for (const auto& [text, other] : found->second) similarities[text] += weight * other;
    ranks.push_back(rank_of(similarities, wanted[query]));
  }
  return ranks;
}

}  // namespace vkformer
