#pragma once
// Token ids of which only some have a loss.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vkformer {

/// Token ids, and which of them are learned. The first one never is: nothing comes before it.
struct LearnedText {
  std::vector<int32_t> ids;
  std::vector<uint8_t> learned;

  /// Whether anything is.
  bool learns() const {
    return ids.size() >= 2 && std::any_of(learned.begin() + 1, learned.end(), [](auto l) { return l != 0; });
  }
};

}  // namespace vkformer
