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

namespace {

template <class Values>
const Values& values_of(const DataBatch& batch, const std::vector<std::pair<std::string, Values>>& all,
                        std::string_view input) {
  const auto found = std::ranges::find(all, input, [](const auto& own) { return std::string_view(own.first); });
  check(found != all.end(), "a batch of {} x {} has no {}", batch.shape.rows, batch.shape.positions, input);
  return found->second;
}

}  // namespace

const std::vector<int32_t>& DataBatch::values(std::string_view input) const { return values_of(*this, inputs, input); }

const std::vector<float>& DataBatch::numbers(std::string_view input) const { return values_of(*this, floats, input); }

}  // namespace vkformer
