#pragma once
// How well texts are found by queries, as sentence-transformers' InformationRetrievalEvaluator counts it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vkformer {

struct RetrievalScores {
  double accuracy_at_1 = 0;  ///< share of the queries whose nearest text is one that is wanted
  double mrr = 0;            ///< MRR@10: mean of 1 / rank of the first wanted text, 0 beyond the tenth
  int64_t queries = 0;
};

/// `rank` of each query's first wanted text among all, from 1 on.
RetrievalScores score_ranks(std::span<const int64_t> ranks);

/// The rank of the likest of the `wanted` texts among `texts`; what is as like counts as before it.
int64_t rank_of(std::span<const double> similarities, std::span<const uint32_t> wanted);

/// Ranks by the words that texts and query have in common: cosines of counts, in lower case, times log(texts / texts
/// with the word) (Salton and Buckley 1988). `wanted`: places in `texts`, of each query.
std::vector<int64_t> ranks_by_words(std::span<const std::string> queries, std::span<const std::string> texts,
                                    std::span<const std::vector<uint32_t>> wanted);

}  // namespace vkformer
