#pragma once
// What the scores of texts share: pairs of lines, words, and n-grams of either words or characters.

#include <algorithm>
#include <array>
#include <cstddef>
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

/// What stands at each place of a text and behind it, up to `most` words or characters, sorted; 0 is behind the end.
template <size_t most>
std::vector<std::array<uint32_t, most>> sorted_ngrams(std::span<const uint32_t> text) {
  std::vector<std::array<uint32_t, most>> ngrams(text.size());
  for (size_t i = 0; i < text.size(); ++i)
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(i), std::min(most, text.size() - i), ngrams[i].begin());
  std::sort(ngrams.begin(), ngrams.end());
  return ngrams;
}

/// How many n-grams two texts share, for n from 1 to `most`: each as often as it occurs in the text that has it less
/// often. The texts are numbers of words or characters, none of them 0. One order serves all n, since n-grams begin
/// the longer ones.
template <size_t most>
std::array<int64_t, most> shared_ngrams(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  const auto of_a = sorted_ngrams<most>(a), of_b = sorted_ngrams<most>(b);
  std::array<int64_t, most> shared{};
  for (size_t n = 1; n <= most; ++n)
    for (size_t i = 0, j = 0; i < of_a.size() && j < of_b.size();) {
      const std::span<const uint32_t> x(of_a[i].data(), n), y(of_b[j].data(), n);
      const auto order = std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
      shared[n - 1] += order == 0 && x.back() != 0;
      i += order <= 0;
      j += order >= 0;
    }
  return shared;
}

/// How many n-grams a text of `size` words or characters has.
inline int64_t count_ngrams(size_t size, size_t n) { return size < n ? 0 : static_cast<int64_t>(size - n + 1); }

}  // namespace vkformer
