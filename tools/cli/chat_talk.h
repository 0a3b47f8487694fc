#pragma once
// A conversation with one model, which `vkformer chat` carries on.

#include <functional>

#include "models/chat/answer_text.h"
#include "models/chat/chat_history.h"
#include "models/constraint/grammar_constraint.h"
#include "models/generation/generation_config.h"
#include "models/seeing/sight.h"
#include "tools/cli/draft_setup.h"

namespace vkformer {

/// The last answer in numbers.
struct ChatStatistics {
  int64_t prompt_tokens = 0;  ///< of the conversation up to the answer
  int64_t reused_tokens = 0;  ///< of these, tokens that were in the cache
  int64_t answer_tokens = 0;
  double seconds_to_first_token = 0, tokens_per_second = 0;
};

class ChatTalk {
 public:
  /// All must outlive this object. `sight`: of the model. `drafts`: who guesses answers. `config`: its max_new_tokens
  /// bounds an answer, if it is set. `grammar`: of answers; nullptr: any.
  ChatTalk(Generator& generator, const PromptText& tokenizer, ChatPrompts& prompts, Sight& sight,
           const DraftSetup& drafts, GenerationConfig config, int64_t vocabulary,
           std::shared_ptr<GrammarTokens> grammar = nullptr);

  ChatHistory& history() { return history_; }
  /// Shows a picture with the next question. Throws Error for what is none, and for a model that can't see.
  void show(const std::string& file);
  void forget_shown() { shown_.clear(); }
  /// Whether the pictures of a conversation can be shown. Throws Error like show().
  void check_seen(const ChatHistory& history);
  /// Adds a question to the history, with what was shown.
  void ask(std::string question) { history_.add_question(std::move(question), std::exchange(shown_, {})); }
  const ChatStatistics& statistics() const { return statistics_; }
  const Speculation& speculation() const { return speculation_; }  ///< of all answers
  const std::vector<int32_t>& prompt() const { return prompt_; }

  /// Answers the last question of the history, piece by piece, until the model ends, the tokens do, or Ctrl-C comes;
  /// what was written until then, but for thoughts, is the answer. `on_prompt` is called before. Throws Error where the
  /// question does not fit, and leaves the history as it is then.
  void answer(const AnswerText::Emit& emit, const std::function<void()>& on_prompt = {});
  /// Why the last answer ended before the model ended it; empty: it did not.
  const std::string& cut_by() const { return cut_by_; }

 private:
  GenerationConfig config_for_prompt();

  const PromptText& tokenizer_;
  ChatPrompts& prompts_;
  Sight& sight_;
  GenerationConfig config_;
  int64_t vocabulary_, capacity_;
  Generator& generator_;
  GenerationSession session_;
  Speculation speculation_;
  ChatHistory history_;
  ChatStatistics statistics_;
  std::vector<int32_t> prompt_;
  std::vector<std::string> shown_;  ///< files, with the question that comes
  std::string cut_by_;
  uint32_t answers_ = 0;
  AnswerText::Marks marks_;
  std::shared_ptr<GrammarTokens> grammar_;
};

}  // namespace vkformer
