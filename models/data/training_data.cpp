#include "models/data/training_data.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

const std::vector<int32_t>& DataBatch::input(std::string_view name) const {
  const auto found = std::ranges::find(inputs, name, [](const auto& input) -> std::string_view { return input.first; });
  check(found != inputs.end(), "a batch of {} x {} has no {}", shape.rows, shape.positions, name);
  return found->second;
}

TrainingBatch DataBatch::view() const {
  TrainingBatch batch{.shape = shape, .feed = {}};
  for (const auto& [name, values] : inputs) batch.feed.emplace_back(name, values);
  return batch;
}

}  // namespace vkformer
