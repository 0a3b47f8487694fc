#include "models/data/pooling.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

const char* name_of(Pooling pooling) {
  switch (pooling) {
    case Pooling::mean: return "mean";
    case Pooling::first: return "first";
    case Pooling::last: return "last";
  }
  return "";
}

Pooling pooling_named(std::string_view name) {
  for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::last})
    if (name == name_of(pooling)) return pooling;
  fail("'{}' is no pooling; mean, first and last are", printable(name, 60));
}

std::vector<float> pooling_weights(std::span<const int32_t> mask, size_t length, Pooling pooling) {
  std::vector<float> weights(mask.size(), 0);
  for (size_t begin = 0; begin < mask.size(); begin += length) {
    const auto present = mask.subspan(begin, length);
    const auto first = static_cast<size_t>(std::ranges::find(present, 1) - present.begin());
    const auto count = static_cast<size_t>(std::ranges::count(present, 1));
    if (count == 0) continue;  // a row that fills the batch
    const size_t from = begin + (pooling == Pooling::last ? first + count - 1 : first);
    const size_t counted = pooling == Pooling::mean ? count : 1;
    std::fill_n(weights.begin() + static_cast<std::ptrdiff_t>(from), counted, 1 / static_cast<float>(counted));
  }
  return weights;
}

}  // namespace vkformer
