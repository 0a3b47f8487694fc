#pragma once
// A text as training data of a causal model: encoded once, split, and cut into windows.

#include "models/data/token_sequence.h"
#include "models/data/training_data.h"

namespace vkformer {

class TextWindows : public TrainingData {
 public:
  struct Settings {
    double validation_fraction = 0.1;  ///< end of the text that is not trained on
    int64_t context = 0;               ///< positions of a window
    int64_t rows = 1;                  ///< windows of a micro-batch
    int64_t accumulate = 1;            ///< micro-batches of an iteration
    uint32_t seed = 0;
  };
  /// Throws Error when a split is shorter than one context and its next token.
  TextWindows(TokenSequence ids, const Settings& settings);

  /// Tokens of both splits.
  int64_t size() const { return ids_.size(); }

  std::vector<BatchShape> shapes() const override;
  /// Random windows of the training split.
  DataBatch training_batch(int64_t number) const override;
  int64_t epoch() const override;
  int64_t validation_batches() const override;
  /// Windows that do not overlap. Targets of rows past the last are ignored.
  DataBatch validation_batch(int64_t index, int64_t count) const override;

 private:
  DataBatch batch(const std::vector<int64_t>& starts) const;
  int64_t validation_windows() const;

  TokenSequence ids_;
  Settings settings_;
  int64_t training_tokens_;
};

}  // namespace vkformer
