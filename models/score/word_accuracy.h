#pragma once
// How often a model's likeliest word is the right one.

#include <cstdint>
#include <span>

namespace vkformer {

struct WordCount {
  int64_t right = 0, targets = 0;
};

/// Of the targets those that are not negative, and of these those that the guess beside them equals.
WordCount count_right_words(std::span<const int32_t> guesses, std::span<const int32_t> targets);

}  // namespace vkformer
