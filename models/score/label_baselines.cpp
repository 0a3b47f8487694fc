#include "models/score/label_baselines.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "models/score/words.h"

namespace vkformer {

namespace {

size_t class_count(std::span<const int32_t> classes) {
  return classes.empty() ? 0 : static_cast<size_t>(*std::ranges::max_element(classes)) + 1;
}

/// Counts of words, sparse: most words occur in few classes.
class NaiveBayes {
 public:
  explicit NaiveBayes(const ClassedTexts& training) : texts_(class_count(training.classes)), words_(texts_.size()) {
    for (size_t i = 0; i < training.texts.size(); ++i) {
      const auto of = static_cast<size_t>(training.classes[i]);
      ++texts_[of];
      for_each_word(training.texts[i], [&](const std::string& word) {
        ++counts_[word][of];
        ++words_[of];
      });
    }
  }

  int32_t classify(std::string_view text) const {
    std::vector<double> scores;
    for (double texts : texts_) scores.push_back(std::log(texts));
    double known = 0;
    for_each_word(text, [&](const std::string& word) {
      const auto found = counts_.find(word);
      if (found == counts_.end()) return;
      ++known;
      for (const auto& [of, count] : found->second) scores[of] += std::log1p(count);
    });
    for (size_t i = 0; i < scores.size(); ++i)
      scores[i] -= known * std::log(words_[i] + static_cast<double>(counts_.size()));
    return static_cast<int32_t>(std::ranges::max_element(scores) - scores.begin());
  }

 private:
  std::vector<double> texts_, words_;  ///< of each class
  std::unordered_map<std::string, std::unordered_map<size_t, double>> counts_;
};

}  // namespace

double majority_accuracy(std::span<const int32_t> training, std::span<const int32_t> valid) {
  std::vector<int64_t> counts(class_count(training));
  for (int32_t of : training) ++counts[static_cast<size_t>(of)];
  const auto majority = static_cast<int32_t>(std::ranges::max_element(counts) - counts.begin());
  return static_cast<double>(std::ranges::count(valid, majority)) / static_cast<double>(valid.size());
}

double naive_bayes_accuracy(const ClassedTexts& training, const ClassedTexts& valid) {
  const NaiveBayes bayes(training);
  int64_t right = 0;
  for (size_t i = 0; i < valid.texts.size(); ++i) right += bayes.classify(valid.texts[i]) == valid.classes[i];
  return static_cast<double>(right) / static_cast<double>(valid.texts.size());
}

}  // namespace vkformer
