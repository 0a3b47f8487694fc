#include "models/finite_weights.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/half.h"

namespace vkformer {

void check_finite(std::string_view tensor, std::span<const float> values, DType type) {
  const auto is_lost = [type](float value) {
    return !std::isfinite(is_half(type) ? from_half(type, to_half(type, value)) : value);
  };
  const auto found = std::ranges::find_if(values, is_lost);
  if (found == values.end()) return;
  fail("tensor {}: {} of {} values are no finite numbers in {}, the first is {} at {}{}", in_quotes(tensor, 120),
       std::ranges::count_if(values, is_lost), values.size(), name_of(type), *found, found - values.begin(),
       std::isfinite(*found) ? "; choose bf16 or f32" : "");
}

}  // namespace vkformer
