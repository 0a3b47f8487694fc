#pragma once
// Batches of training: their usual shapes, their targets, and means over several of them.

#include "models/model.h"

namespace vkformer {

/// A batch of a causal language model; `positions` 0: the model's. Throws Error for other models.
BatchShape causal_batch(const Model& model, int64_t rows, int64_t positions = 0);
/// The same for any model: padded sequences unless it is causal, sources as long as targets.
BatchShape usual_batch(const Model& model, int64_t rows, int64_t positions = 0);

/// The inputs of add_inputs() and "targets" of a batch of that shape. The integers must outlive it.
struct TrainingBatch {
  BatchShape shape;
  Feed feed;
};

/// What a target is that the loss ignores.
inline constexpr int32_t ignored_target = -100;

/// Targets of the batch that the loss does not ignore. Throws Error for a batch without "targets", and for a target
/// that is neither ignored nor one of the `classes`.
int64_t count_targets(const TrainingBatch& batch, int64_t classes);

/// A mean over targets. Batches count by their targets, so that their sum is the mean over the targets of all.
struct MeanLoss {
  double sum = 0;
  int64_t targets = 0;

  double value() const { return targets > 0 ? sum / static_cast<double>(targets) : 0; }
  void add(double mean, int64_t count) {
    sum += mean * static_cast<double>(count);
    targets += count;
  }
  void add(const MeanLoss& other) {
    sum += other.sum;
    targets += other.targets;
  }
};

}  // namespace vkformer
