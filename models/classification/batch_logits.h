#pragma once
// The logits of an encoder for batches of texts.

#include <functional>

#include "models/data/token_texts.h"

namespace vkformer {

class BatchLogits {
 public:
  /// Programs over the parameters in `store`, their temporaries in `workspace`. `backend` and `model` must outlive it.
  BatchLogits(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace)
      : backend_(backend), model_(model), store_(std::move(store)), workspace_(std::move(workspace)) {}

  /// The model's logits, rows that are padding included. A program is recorded for each shape. Inputs that the model
  /// lacks ("targets") are ignored. Throws Error for ids the model has not.
  std::vector<float> of(const DataBatch& batch);

 private:
  Program& program(const BatchShape& shape);

  Backend& backend_;
  const Model& model_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;
  std::vector<std::pair<BatchShape, std::unique_ptr<Program>>> programs_;
};

/// exp(logits) as shares of their sum.
std::vector<double> softmax_of(std::span<const float> logits);

}  // namespace vkformer
