#include "runtime/files/weight_source.h"

namespace vkformer {

WeightTensor::WeightTensor(std::string name, std::vector<int64_t> shape, int64_t elements, std::string_view type,
                           uint64_t bytes)
    : name_(std::move(name)), shape_(std::move(shape)), elements_(elements), type_(type), bytes_(bytes) {}

const WeightTensor* WeightSource::find(std::string_view tensor) const {
  const auto known = by_name_.find(tensor);
  return known == by_name_.end() ? nullptr : known->second;
}

void WeightSource::add(std::unique_ptr<WeightTensor> tensor) {
  tensor->index_ = tensors_.size();
  by_name_.emplace(tensor->name(), tensor.get());
  tensors_.push_back(std::move(tensor));
}

}  // namespace vkformer
