#include "models/type_fallbacks.h"

#include <fmt/ranges.h>

#include <vector>

namespace vkformer {

void TypeFallbacks::add(DType wanted, DType got) {
  if (!is_blocks(wanted)) return;
  ++weights_;
  if (got == wanted) return;
  wanted_.insert(wanted);
  ++got_[got];
}

std::string TypeFallbacks::text() const {
  if (got_.empty()) return "";
  int64_t fallen = 0;
  std::vector<std::string> wanted, got;
  for (const DType type : wanted_) wanted.emplace_back(name_of(type));
  for (const auto& [type, count] : got_) {
    fallen += count;
    got.push_back(fmt::format("{} {}", name_of(type), count));
  }
  return fmt::format("{} of {} weights have rows that are no whole blocks of {}: {}", fallen, weights_,
                     fmt::join(wanted, " or "), fmt::join(got, ", "));
}

}  // namespace vkformer
