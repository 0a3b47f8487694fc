#include "tools/cli/answer_score.h"

#include <algorithm>

#include "models/score/answers.h"
#include "runtime/files/utf8.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

JobScores AnswerScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  const size_t all = windows_.size(), used = whole_split ? all : std::min(all, settings_.questions);
  const auto question_at = [&](size_t i) -> const Question& { return questions_.questions[i * all / used]; };
  AskedQuestions asked;
  for (size_t i = 0; i < used; ++i) asked.add(windows_[i * all / used]);
  Answerer answerer(backend, model_, trainer.shared_store(), trainer.workspace());
  const auto answers =
      answerer.answer(asked, settings_.inputs, settings_.positions, [](size_t) { interrupt_if_asked(); });
  AnswerScores scores;
  std::vector<std::string> found;
  for (size_t i = 0; i < used; ++i)
    scores.add(question_at(i).answers, found.emplace_back(answer_text(question_at(i).context, answers[i])));
  JobScores result{.values = {{"exact_match", scores.exact_match()}, {"f1", scores.f1()}},
                   .notes = {{"questions", used}},
                   .text = fmt::format("  exact match {:.2f} %, F1 {:.4f} of {} questions\n",
                                       100 * scores.exact_match(), scores.f1(), used)};
  constexpr size_t shown = 3;
  for (size_t i = 0; i < used; ++i) {
    if (i * shown / used == (i + 1) * shown / used) continue;
    const Question& question = question_at(i);
    const std::string reference = question.answers.empty() ? "" : question.answers.front();
    result.notes["samples"].push_back(
        {{"source", question.question}, {"reference", reference}, {"hypothesis", found[i]}});
    result.text += fmt::format("  {}\n    -> {}\n", printable(question.question), printable(found[i]));
  }
  return result;
}

}  // namespace vkformer
