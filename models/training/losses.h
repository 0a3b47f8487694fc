#pragma once
// What a training minimises, by the model's task: see training_graph.h.

#include "models/model.h"

namespace vkformer {

struct Loss {
  Value loss;       ///< [1], output "loss"
  int64_t classes;  ///< "targets" lie below
};

/// Adds the model with its loss, and the inputs that are no inputs of `pass`. Throws Error for a model without a loss.
Loss add_loss(Graph& graph, const Model& model, const BatchShape& shape, double label_smoothing, const Pass& pass);

/// The log-likelihood of each row's "labels" i32 [B, T], those of -100 ignored: [B].
Value add_log_likelihoods(Graph& graph, const Model& model, const Pass& pass);

/// Elements `first` .. of x, as a tensor of that shape.
Value elements_of(Graph& graph, Value x, int64_t first, const Shape& shape);

}  // namespace vkformer
