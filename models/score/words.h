#pragma once
// The words of a text, as simple rules count them.

#include <string>
#include <string_view>

#include "models/text/unicode.h"

namespace vkformer {

/// Calls `action` for each run of letters, digits and marks, in lower case.
template <class Action>
void for_each_word(std::string_view text, const Action& action) {
  std::string word;
  const std::string lower = lower_case(text);
  for_each_character(lower, [&](char32_t c, size_t at, size_t length) {
    if (is_word_character(c)) {
      word.append(lower, at, length);
    } else if (!word.empty()) {
      action(word);
      word.clear();
    }
  });
  if (!word.empty()) action(word);
}

}  // namespace vkformer
