#pragma once
// What a classifier must be better than to be worth its training.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vkformer {

/// Texts and the class of each, from 0 on.
struct ClassedTexts {
  std::vector<std::string> texts;
  std::vector<int32_t> classes;
};

/// Share of `valid` that has the class most frequent in `training`, 0 to 1; of several the first.
double majority_accuracy(std::span<const int32_t> training, std::span<const int32_t> valid);

/// Share of `valid` that a multinomial naive Bayes of the words in lower case gets right, 0 to 1. Counts of words in a
/// class begin at one; words that `training` lacks are ignored. (McCallum and Nigam 1998.)
double naive_bayes_accuracy(const ClassedTexts& training, const ClassedTexts& valid);

}  // namespace vkformer
