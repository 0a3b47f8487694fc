#include "models/finite_weights.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

void check_finite(std::string_view tensor, std::span<const float> values, DType type) {
  constexpr float least_infinite_half = 65520;  // what is below is rounded down to 65504
  const auto is_lost = [&](float value) {
    return !std::isfinite(value) || (type == DType::f16 && std::abs(value) >= least_infinite_half);
  };
  const auto found = std::ranges::find_if(values, is_lost);
  if (found == values.end()) return;
  fail("tensor {}: {} of {} values are no finite numbers in {}, the first is {} at {}{}", in_quotes(tensor, 120),
       std::ranges::count_if(values, is_lost), values.size(), name_of(type), *found, found - values.begin(),
       std::isfinite(*found) ? "; choose bf16 or f32" : "");
}

}  // namespace vkformer
