#include "models/training/training_batch.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

BatchShape causal_batch(const Model& model, int64_t rows, int64_t positions) {
  check(model.task == Task::causal, "{} is not trained on running text", model.family);
  return {.rows = rows, .positions = positions > 0 ? positions : model.context};
}

BatchShape usual_batch(const Model& model, int64_t rows, int64_t positions) {
  const int64_t context = positions > 0 ? positions : model.context > 0 ? model.context : usual_positions;
  return {.rows = rows,
          .positions = context,
          .source_positions = !model.has_encoder()       ? 0
                              : model.source_context > 0 ? model.source_context
                                                         : context,
          .mask = model.task != Task::causal && model.reads_ids()};
}

int64_t count_targets(const TrainingBatch& batch, int64_t classes) {
  const std::span<const int32_t> targets = integers_of(batch.feed, "targets");
  check(!targets.empty(), "a batch of {} x {} has no targets", batch.shape.rows, batch.shape.positions);
  int64_t count = 0;
  for (int32_t target : targets) {
    if (target == ignored_target) continue;
    check(target >= 0 && target < classes, "a target is {}; the model has {} classes, and {} is ignored", target,
          classes, ignored_target);
    ++count;
  }
  return count;
}

}  // namespace vkformer
