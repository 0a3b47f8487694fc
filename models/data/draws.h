#pragma once
// Random integers one after another, in a sequence of its own for each example.

#include <span>
#include <utility>

#include "runtime/random.h"

namespace vkformer {

class Draws {
 public:
  /// `stream` tells the uses of a seed apart, `example` one example from another.
  Draws(uint32_t seed, uint32_t stream, uint64_t example) : key_{seed, stream}, example_(example) {}

  /// Uniform in [0, count).
  int64_t below(int64_t count) {
    const auto words =
        philox4x32_10({next_++, static_cast<uint32_t>(example_), static_cast<uint32_t>(example_ >> 32), 0}, key_);
    return static_cast<int64_t>((uint64_t{words[0]} << 32 | words[1]) % static_cast<uint64_t>(count));
  }

  /// Fisher and Yates' shuffle.
  template <class T>
  void shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t example_;
  uint32_t next_ = 0;
};

}  // namespace vkformer
