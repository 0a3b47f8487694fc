#pragma once
// What the scores of texts share: pairs of lines, words, and n-grams of either words or characters.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// Throws Error unless there are as many hypotheses as references, and at least one.
void check_pairs(std::span<const std::string> references, std::span<const std::string> hypotheses);

/// What Python's str.split() separates at: Unicode's White_Space (U+00A0 and U+3000 too) and U+001C to U+001F.
bool separates_words(char32_t c);

/// Valid UTF-8 split at runs of whitespace, as str.split() does.
std::vector<std::string> split_words(std::string_view text);

/// The n-grams of a text, sorted; equal ones stand side by side.
template <class T>
std::vector<std::span<const T>> sorted_ngrams(const std::vector<T>& text, size_t n) {
  std::vector<std::span<const T>> ngrams;
  for (size_t i = 0; i + n <= text.size(); ++i) ngrams.push_back(std::span(text).subspan(i, n));
  std::sort(ngrams.begin(), ngrams.end(), [](const auto& a, const auto& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  });
  return ngrams;
}

/// How many n-grams two texts share: each as often as it occurs in the text that has it less often.
template <class T>
int64_t shared_ngrams(const std::vector<T>& a, const std::vector<T>& b, size_t n) {
  const auto of_a = sorted_ngrams(a, n), of_b = sorted_ngrams(b, n);
  int64_t shared = 0;
  for (size_t i = 0, j = 0; i < of_a.size() && j < of_b.size();) {
    const auto order =
        std::lexicographical_compare_three_way(of_a[i].begin(), of_a[i].end(), of_b[j].begin(), of_b[j].end());
    shared += order == 0;
    i += order <= 0;
    j += order >= 0;
  }
  return shared;
}

/// How many n-grams a text of `size` words or characters has.
inline int64_t count_ngrams(size_t size, size_t n) { return size < n ? 0 : static_cast<int64_t>(size - n + 1); }

}  // namespace vkformer
