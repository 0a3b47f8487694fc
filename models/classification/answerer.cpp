#include "models/classification/answerer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/data/questions.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

std::string answer_text(std::string_view context, const FoundAnswer& answer) {
  std::string text;
  const auto [begin, end] = without_blanks(context, answer.range);
  for_each_character(context.substr(begin, end - begin), [&](char32_t c, size_t, size_t) {
    if (!is_white_space(c))
      append_utf8(text, c);
    else if (text.back() != ' ')
      text += ' ';
  });
  return text;
}

nlohmann::json answer_json(const std::string& question, std::string_view context, const FoundAnswer& answer) {
  const auto [begin, end] = without_blanks(context, answer.range);
  return {{"question", question},
          {"answer", answer_text(context, answer)},
          {"probability", answer.probability},
          {"start", characters_before(context, begin)},
          {"end", characters_before(context, end)}};
}

WindowAnswer answer_of_window(std::span<const float> logits, const AnswerWindow& window) {
  // Of the first token, then of the context's.
  std::vector<float> starts{logits[0]}, ends{logits[1]};
  const size_t count = window.spans.size(), first = static_cast<size_t>(window.first);
  for (size_t i = 0; i < count; ++i) {
    starts.push_back(logits[2 * (first + i)]);
    ends.push_back(logits[2 * (first + i) + 1]);
  }
  const auto start = softmax_of(starts), end = softmax_of(ends);
  WindowAnswer answer{.best = {}, .none = start[0] * end[0]};
  for (size_t s = 0; s < count; ++s)
    for (size_t e = s; e < std::min(s + longest_answer, count); ++e) {
      const double probability = start[s + 1] * end[e + 1];
      if (probability > answer.best.probability)
        answer.best = {{window.spans[s].begin, window.spans[e].end}, probability};
    }
  return answer;
}

void AskedQuestions::add(std::vector<AnswerWindow> question) {
  for (AnswerWindow& window : question) {
    texts.ids.push_back(std::move(window.ids));
    texts.segments.push_back(std::move(window.segments));
    windows.push_back(std::move(window));
    owners.push_back(count);
  }
  ++count;
}

Answerer::Answerer(Backend& backend, const Model& model, std::shared_ptr<Store> store,
                   std::shared_ptr<Workspace> workspace)
    : logits_(backend, model, std::move(store), std::move(workspace)) {
  check(model.task == Task::answer, "this {} model finds no answers; train one with --answers", model.family);
}

std::vector<FoundAnswer> Answerer::answer(const AskedQuestions& asked, const TextInputs& inputs, int64_t positions,
                                          const std::function<void(size_t)>& done) {
  std::vector<WindowAnswer> best(asked.count);
  for_batches_by_length(asked.texts, inputs, positions, [&](const DataBatch& batch, std::span<const uint32_t> taken) {
    const std::vector<float> logits = logits_.of(batch);
    const size_t row = 2 * static_cast<size_t>(batch.shape.positions);
    for (size_t i = 0; i < taken.size(); ++i) {
      const WindowAnswer answer = answer_of_window(std::span(logits).subspan(i * row, row), asked.windows[taken[i]]);
      WindowAnswer& so_far = best[asked.owners[taken[i]]];
      if (answer.best.probability > so_far.best.probability) so_far.best = answer.best;
      so_far.none = std::min(so_far.none, answer.none);
    }
    done(taken.size());
  });
  std::vector<FoundAnswer> answers;
  for (const WindowAnswer& answer : best)
    answers.push_back(answer.best.probability >= answer.none ? answer.best : FoundAnswer{{}, answer.none});
  return answers;
}

}  // namespace vkformer
