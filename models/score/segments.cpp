#include "models/score/segments.h"

#include "models/text/unicode.h"
#include "runtime/check.h"

namespace vkformer {

void check_pairs(std::span<const std::string> references, std::span<const std::string> hypotheses) {
  check(references.size() == hypotheses.size(),
        "there are {} references and {} hypotheses; give one hypothesis for each reference", references.size(),
        hypotheses.size());
  check(!references.empty(), "there is nothing to score; give at least one reference");
}

bool separates_words(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for_each_character(text, [&](char32_t c, size_t at, size_t length) {
    if (separates_words(c)) {
      inside = false;
      return;
    }
    if (!inside) words.emplace_back();
    inside = true;
    words.back() += text.substr(at, length);
  });
  return words;
}

}  // namespace vkformer
