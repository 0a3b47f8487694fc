#pragma once
// What a model of answers finds in texts.

#include <nlohmann/json_fwd.hpp>

#include "models/classification/batch_logits.h"
#include "models/data/question_encoder.h"
#include "models/data/token_texts.h"

namespace vkformer {

/// Most tokens of an answer.
inline constexpr size_t longest_answer = 30;

/// A part of a context.
struct FoundAnswer {
  ByteRange range;  ///< of no bytes: the context does not tell
  double probability = 0;
};

/// Its text on one line: blanks of any kind are one.
std::string answer_text(std::string_view context, const FoundAnswer& answer);
/// {"question", "answer", "probability", "start", "end"}, the last two in characters of the context.
nlohmann::json answer_json(const std::string& question, std::string_view context, const FoundAnswer& answer);

/// The answers that one window allows, as transformers' pipeline finds them: starts and ends have softmax probabilities
/// among the context's tokens and the row's first one, which stands for no answer.
struct WindowAnswer {
  FoundAnswer best;  ///< largest start * end, end not before start, of at most longest_answer tokens
  double none = 1;   ///< start * end of no answer
};
/// `logits`: of the window's positions, start and end [T, 2].
WindowAnswer answer_of_window(std::span<const float> logits, const AnswerWindow& window);

/// Windows of questions, of each at least one, side by side.
struct AskedQuestions {
  TokenTexts texts;
  std::vector<AnswerWindow> windows;  ///< without their ids and segments, which `texts` has
  std::vector<size_t> owners;         ///< of each window: its question
  size_t count = 0;                   ///< of the questions

  void add(std::vector<AnswerWindow> question);
};

class Answerer {
 public:
  /// See BatchLogits. Throws Error for a model that has no head for answers.
  Answerer(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace);

  /// The best answer of each question over its windows; none where in each of them none is likelier than that. Batches
  /// have at most `positions`. `done`: called with the number of windows that a batch had.
  std::vector<FoundAnswer> answer(const AskedQuestions& asked, const TextInputs& inputs, int64_t positions,
                                  const std::function<void(size_t)>& done);
  const BatchLogits& logits() const { return logits_; }

 private:
  BatchLogits logits_;
};

}  // namespace vkformer
