#pragma once
// What a classifier makes of texts.

#include <functional>

#include "models/data/token_texts.h"

namespace vkformer {

class Classifier {
 public:
  /// Programs over the parameters in `store`, their temporaries in `workspace`. `backend` and `model` must outlive it.
  /// Throws Error for a model that is no classifier of whole texts.
  Classifier(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace);

  /// The probability of each class for each row of a batch, rows that are padding included. A program is recorded for
  /// each shape. Inputs that the model lacks ("targets") are ignored. Throws Error for ids the model has not.
  std::vector<std::vector<double>> probabilities(const DataBatch& batch);

 private:
  Program& program(const BatchShape& shape);

  Backend& backend_;
  const Model& model_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;
  std::vector<std::pair<BatchShape, std::unique_ptr<Program>>> programs_;
};

/// Any number of texts, those of like length together, in batches of at most `positions`: gives the probabilities of
/// each, in whatever order.
void classify_by_length(Classifier& classifier, const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                        const std::function<void(size_t text, const std::vector<double>& probabilities)>& take);

}  // namespace vkformer
