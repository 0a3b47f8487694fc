#include "runtime/conform/simpler_cases.h"

#include <algorithm>
#include <set>

namespace vkformer {

std::vector<Case> simpler_cases(const Case& c) {
  std::vector<Case> list;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].absent) continue;
    list.push_back(c);
    list.back().inputs[i].absent = true;
  }
  std::set<int64_t> sizes;
  for (const CaseInput& input : c.inputs)
    for (const int64_t size : input.type.shape.dimensions())
      if (!input.absent && size > 1) sizes.insert(size);
  const auto resized = [&](int64_t from, int64_t to, bool attributes) {
    Case smaller = c;
    for (CaseInput& input : smaller.inputs) {
      std::vector<int64_t> dimensions(input.type.shape.dimensions().begin(), input.type.shape.dimensions().end());
      std::ranges::replace(dimensions, from, to);
      input.type.shape = Shape(std::span<const int64_t>(dimensions));
      // Ids lie below the number of rows.
      if (input.high == static_cast<double>(from)) input.high = static_cast<double>(to);
      if (input.high == static_cast<double>(from - 1)) input.high = static_cast<double>(to - 1);
    }
    for (const auto& [name, value] : c.attributes.entries())
      if (attributes && value == static_cast<double>(from)) smaller.attributes.set(name, static_cast<double>(to));
    return smaller;
  };
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size)
    for (const int64_t to : {int64_t{1}, *size / 2, *size - 1})
      for (const bool attributes : {true, false})
        if (to > 0 && to < *size) list.push_back(resized(*size, to, attributes));
  for (const auto& [name, value] : c.attributes.entries()) {
    if (value == 0) continue;
    list.push_back(c);
    list.back().attributes.set(name, 0);
  }
  return list;
}

}  // namespace vkformer
