#include "models/finite_weights.h"

#include <algorithm>
#include <cmath>

namespace vkformer {

void check_finite(std::string_view tensor, std::span<const float> values, DType type) {
  // What rounds to infinity: from half a unit above the largest number on.
  const float limit = type == DType::f16 ? 65520.0f : type == DType::bf16 ? 0x1.FFp127f : INFINITY;
  const auto is_lost = [limit](float value) { return !(std::abs(value) < limit); };
  const auto found = std::ranges::find_if(values, is_lost);
  if (found == values.end()) return;
  fail("tensor {}: {} of {} values are no finite numbers in {}, the first is {} at {}{}", in_quotes(tensor, 120),
       std::ranges::count_if(values, is_lost), values.size(), name_of(type), *found, found - values.begin(),
       std::isfinite(*found) ? "; choose bf16 or f32" : "");
}

}  // namespace vkformer
