#pragma once
// Scores of answers, as SQuAD's evaluation script has them (Rajpurkar et al. 2016 and 2018).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace vkformer {

/// What the script compares: in lower case, without ASCII punctuation and the words a, an and the, blanks folded.
std::string normalized_answer(std::string_view answer);

/// Whether the normalized answers are equal.
bool answers_agree(std::string_view reference, std::string_view hypothesis);

/// F1 of the words of the normalized answers, 0 to 1; where one has no words, whether both have none.
double answer_f1(std::string_view reference, std::string_view hypothesis);

/// Means over questions.
class AnswerScores {
 public:
  /// Of the references the one that scores most counts; none stand for no answer, "". References without words do not
  /// count beside others.
  void add(std::span<const std::string> references, std::string_view hypothesis);

  int64_t questions() const { return questions_; }
  double exact_match() const { return mean(exact_); }  ///< 0 to 1
  double f1() const { return mean(f1_); }              ///< 0 to 1

 private:
  double mean(double sum) const { return questions_ == 0 ? 0 : sum / static_cast<double>(questions_); }

  int64_t questions_ = 0;
  double exact_ = 0, f1_ = 0;
};

}  // namespace vkformer
