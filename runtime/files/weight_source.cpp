#include "runtime/files/weight_source.h"

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

WeightTensor::WeightTensor(std::string name, std::vector<int64_t> shape, int64_t elements, std::string_view type,
                           uint64_t bytes)
    : name_(std::move(name)), shape_(std::move(shape)), elements_(elements), type_(type), bytes_(bytes) {}

void WeightTensor::read_columns(int64_t first, std::span<float> out) const {
  check(shape_.size() == 2, "tensor {} is no matrix", in_quotes(name_, 120));
  const int64_t height = shape_[0], width = shape_[1], count = static_cast<int64_t>(out.size()) / height;
  std::vector<float> part(static_cast<size_t>(count));
  for (int64_t row = 0; row < height; ++row) {
    read_floats(row * width + first, part);
    for (int64_t c = 0; c < count; ++c) out[static_cast<size_t>(c * height + row)] = part[static_cast<size_t>(c)];
  }
}

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
