#pragma once
// How well a model in training finds texts by queries that it is not trained on.

#include "models/data/similar_data.h"
#include "models/score/retrieval.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// Rows' queries and texts, each once, and what each query is to find.
struct Retrieval {
  std::vector<uint32_t> queries, texts;       ///< places of texts in the rows
  std::vector<std::vector<uint32_t>> wanted;  ///< of each query, places in `texts`
};
/// `same`: a number for each text of the rows, `each` of a row, the same for equal ones. Of some of the rows.
Retrieval retrieval_of(std::span<const uint32_t> same, int64_t each, std::span<const int64_t> rows);

/// The scores in words.
std::string text_of(const RetrievalScores& scores);

/// Accuracy at 1 and MRR@10, 0 to 1, among all texts of the rows that are no queries.
class SimilarScorer : public JobScorer {
 public:
  /// `rows`: of an evaluation that is not of the whole split, spread evenly; `positions`: of a batch. Model and data
  /// must outlive it.
  SimilarScorer(const Model& model, const SimilarData& data, int64_t rows, int64_t positions)
      : model_(model), data_(data), rows_(rows), positions_(positions) {}

  std::vector<std::string> metrics() const override { return {"mrr", "accuracy_at_1"}; }
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const Model& model_;
  const SimilarData& data_;
  int64_t rows_, positions_;
};

}  // namespace vkformer
