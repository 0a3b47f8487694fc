#include "models/data/training_data.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

TrainingBatch DataBatch::view() const {
  TrainingBatch batch{.shape = shape, .feed = {}};
  for (const auto& [name, values] : inputs) batch.feed.emplace_back(name, values);
  for (const auto& [name, values] : floats) batch.feed.emplace_back(name, values);
  return batch;
}

const std::vector<int32_t>& DataBatch::values(std::string_view input) const {
  const auto found = std::ranges::find(inputs, input, [](const auto& own) { return std::string_view(own.first); });
  check(found != inputs.end(), "a batch of {} x {} has no {}", shape.rows, shape.positions, input);
  return found->second;
}

}  // namespace vkformer
