#include "models/score/answers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "models/text/unicode.h"

namespace vkformer {

namespace {

bool is_ascii_punctuation(char32_t c) { return c < 0x80 && is_punctuation(c); }

/// The normalized answer's words.
std::vector<std::string> words_of_answer(std::string_view answer) {
  std::string plain;
  for_each_character(lower_case(answer), [&](char32_t c, size_t, size_t) {
    if (!is_ascii_punctuation(c)) append_utf8(plain, c);
  });
  // An article is a run of word characters, which may have other signs beside it; a blank takes its place.
  std::string rest, run;
  const auto end_run = [&] {
    rest += run == "a" || run == "an" || run == "the" ? " " : run;
    run.clear();
  };
  for_each_character(plain, [&](char32_t c, size_t, size_t) {
    if (is_word_character(c)) return append_utf8(run, c);
    end_run();
    append_utf8(rest, c);
  });
  end_run();
  std::vector<std::string> words;
  bool within = false;
  for_each_character(rest, [&](char32_t c, size_t, size_t) {
    const bool blank = is_white_space(c);
    if (!blank && !within) words.emplace_back();
    if (!blank) append_utf8(words.back(), c);
    within = !blank;
  });
  return words;
}

}  // namespace

std::string normalized_answer(std::string_view answer) {
  std::string text;
  for (const std::string& word : words_of_answer(answer)) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool answers_agree(std::string_view reference, std::string_view hypothesis) {
  return normalized_answer(reference) == normalized_answer(hypothesis);
}

double answer_f1(std::string_view reference, std::string_view hypothesis) {
  const auto right = words_of_answer(reference), said = words_of_answer(hypothesis);
  if (right.empty() || said.empty()) return right.empty() && said.empty();
  std::map<std::string_view, int64_t> counts;
  for (const std::string& word : right) ++counts[word];
  const auto common = std::ranges::count_if(said, [&](const std::string& word) { return counts[word]-- > 0; });
  return 2 * static_cast<double>(common) / static_cast<double>(right.size() + said.size());
}

void AnswerScores::add(std::span<const std::string> references, std::string_view hypothesis) {
  std::vector<std::string> right;
  for (const std::string& reference : references)
    if (!normalized_answer(reference).empty()) right.push_back(reference);
  if (right.empty()) right.emplace_back();
  double exact = 0, f1 = 0;
  for (const std::string& reference : right) {
    exact = std::max<double>(exact, answers_agree(reference, hypothesis));
    f1 = std::max(f1, answer_f1(reference, hypothesis));
  }
  ++questions_;
  exact_ += exact;
  f1_ += f1;
}

}  // namespace vkformer
