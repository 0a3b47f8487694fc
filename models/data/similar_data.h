#pragma once
// Texts that are similar, as training data.

#include "models/data/length_data.h"
#include "models/data/pooling.h"
#include "models/data/token_texts.h"

namespace vkformer {

/// Rows of `each` texts, one behind the other: a query, what is similar to it, and texts that are not.
struct SimilarTexts {
  TokenTexts texts;
  int64_t each = 2;

  int64_t rows() const { return std::ssize(texts.ids) / each; }
  /// A number for each text, the same for those of the same tokens; from 0 on, in the order of their first places.
  std::vector<uint32_t> identities() const;
};

class SimilarData : public LengthData {
 public:
  struct Settings {
    LengthBatches::Settings batches;  ///< `positions` of all texts, `most_rows` of queries
    TextInputs inputs;
    Pooling pooling = Pooling::mean;
  };
  /// Batches of n rows have, beside what a model reads of their `each` n texts (all queries, then all that are similar
  /// to them, ..): "pooling" [each n, T], "targets" i32 [n], the place of the text that is similar to a query among all
  /// that are no queries, and "apart" [n, (each - 1) n], 0 or `not_compared`: of texts of no row, and of those that are
  /// similar as well, being the same as the query or as what is similar to it, or similar to the same query in another
  /// row. Throws Error when there is no training text.
  SimilarData(SimilarTexts training, SimilarTexts validation, const Settings& settings);

  const SimilarTexts& texts(Split split) const { return split == Split::training ? training_ : validation_; }
  /// See SimilarTexts::identities().
  const std::vector<uint32_t>& identities(Split split) const { return same_[split == Split::training ? 0 : 1]; }
  const Settings& settings() const { return settings_; }

  /// What is added to a similarity that does not count: no exponential is left of it.
  static constexpr float not_compared = -3e4F;

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;

  SimilarTexts training_, validation_;
  std::vector<uint32_t> same_[2];  ///< identities by split
  Settings settings_;
};

}  // namespace vkformer
