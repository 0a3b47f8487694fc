#pragma once
// What a classifier makes of texts.

#include <functional>

#include "models/classification/batch_logits.h"
#include "models/data/token_texts.h"

namespace vkformer {

/// Whether a model gives classes of whole texts: the likeliest of several, or how far each holds.
bool classifies(const Model& model);
/// Whether it gives a number of each text (regression).
bool gives_numbers(const Model& model);

class Classifier {
 public:
  /// See BatchLogits. Throws Error for a model that gives neither classes nor numbers of whole
  /// texts.
  Classifier(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace);

  /// Of each class for each row of a batch, see BatchLogits::of().
  std::vector<std::vector<float>> logits_of(const DataBatch& batch);
  /// The probability of each class by the logits of a row, or its number as it is.
  std::vector<double> probabilities_of(std::span<const float> logits) const;
  std::vector<std::vector<double>> probabilities(const DataBatch& batch);
  const BatchLogits& logits() const { return logits_; }

 private:
  Task task_;
  BatchLogits logits_;
};

/// Any number of texts, those of like length together, in batches of at most `positions`: gives the logits of each,
/// in whatever order.
void classify_by_length(Classifier& classifier, const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                        const std::function<void(size_t text, std::span<const float> logits)>& take);

}  // namespace vkformer
