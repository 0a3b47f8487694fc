#include "models/data/training_data.h"

namespace vkformer {

TrainingBatch DataBatch::view() const {
  TrainingBatch batch{.shape = shape, .feed = {}};
  for (const auto& [name, values] : inputs) batch.feed.emplace_back(name, values);
  return batch;
}

}  // namespace vkformer
