#include "models/data/kept_floats.h"

namespace vkformer {

namespace {

constexpr size_t most_bytes = size_t{1} << 30;

}  // namespace

std::vector<float> KeptFloats::of(const std::filesystem::path& file,
                                  const std::function<std::vector<float>()>& make) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(file); found != kept_.end()) return found->second;
  }
  std::vector<float> values = make();
  const std::lock_guard lock(mutex_);
  if ((kept_.size() + 1) * values.size() * sizeof(float) <= most_bytes) kept_.emplace(file, values);
  return values;
}

}  // namespace vkformer
