#include "tools/cli/chat_talk.h"

#include "models/generation/beam_search.h"
#include "runtime/check.h"
#include "tools/cli/chat_input.h"
#include "tools/cli/progress.h"

namespace vkformer {

ChatTalk::ChatTalk(Generator& generator, const PromptText& tokenizer, ChatPrompts& prompts, Sight& sight,
                   const DraftSetup& drafts, GenerationConfig config, int64_t vocabulary,
                   std::shared_ptr<GrammarTokens> grammar)
    : tokenizer_(tokenizer),
      prompts_(prompts),
      sight_(sight),
      config_(std::move(config)),
      vocabulary_(vocabulary),
      capacity_(generator.capacity()),
      generator_(generator),
      session_(generator),
      speculation_(drafts.speculation(generator, session_)),
      marks_(AnswerText::find_marks(tokenizer)),
      grammar_(std::move(grammar)) {
  marks_.spare_messages(config_.eos_token_ids);
}

void ChatTalk::show(const std::string& file) {
  sight_.show_file(file);
  shown_.push_back(file);
}

void ChatTalk::check_seen(const ChatHistory& history) {
  for (const std::string& file : history.pictures()) sight_.show_file(file);
}

GenerationConfig ChatTalk::config_for_prompt() {
  GenerationConfig config = config_;
  const int64_t room = capacity_ - std::ssize(prompt_) + 1;  // the last token need not be run
  config.max_new_tokens = std::min(config.max_new_tokens.value_or(room), room);
  config.seed += answers_++;  // asked again, it may say something else
  if (grammar_) {
    const auto parts = [this] { return AnswerText::parts_of(tokenizer_, prompt_, marks_); };
    config.constraint = std::make_shared<GrammarConstraint>(grammar_, config.eos_token_ids, false, parts);
  }
  return config;
}

void ChatTalk::answer(const AnswerText::Emit& emit, const std::function<void()>& on_prompt) {
  const double start = now();
  cut_by_.clear();
  Interruption::take();  // one that came before
  const std::vector<int32_t> with_pictures = prompts_.of(history_);
  prompt_ = sight_.as_tokens(with_pictures);
  for (const int32_t id : prompt_)
    check(id < vocabulary_, "the prompt has token {}, the model knows {}; is the tokenizer another model's?", id,
          vocabulary_);
  if (on_prompt) on_prompt();
  const GenerationConfig config = config_for_prompt();
  const auto search = make_search(config, {prompt_}, vocabulary_);
  generator_.expect(search->expected());
  std::string text;
  AnswerText answer(tokenizer_, prompt_, marks_, [&](const std::string& piece, bool thought) {
    if (!thought) text += piece;
    emit(piece, thought);
  });
  const std::vector<float> logits = session_.begin(with_pictures);
  statistics_ = {.prompt_tokens = std::ssize(prompt_), .reused_tokens = session_.reused()};
  bool ended = false;
  const auto choose = [&](auto scores, auto choices) -> std::optional<int32_t> {
    const auto before = search->ids(0).size();
    search->advance(scores, choices);
    if (search->ids(0).size() == before) return std::nullopt;  // nothing is possible
    if (statistics_.answer_tokens++ == 0) statistics_.seconds_to_first_token = now() - start;
    const int32_t token = search->ids(0).back();
    ended = config.ends(token);
    if (!ended) answer.take(token);
    if (Interruption::take()) cut_by_ = "Ctrl-C";
    if (ended || search->done() || !cut_by_.empty()) return std::nullopt;
    return token;
  };
  auto last = choose(std::span(logits), generator_.choices());
  while (last) last = speculation_.step(search->ids(0), choose);
  answer.end();
  const double rest = now() - start - statistics_.seconds_to_first_token;
  if (statistics_.answer_tokens > 1)
    statistics_.tokens_per_second = static_cast<double>(statistics_.answer_tokens - 1) / rest;
  if (!ended && cut_by_.empty())
    cut_by_ = config_.max_new_tokens && *config_.max_new_tokens == statistics_.answer_tokens
                  ? fmt::format("-n {}", *config_.max_new_tokens)
                  : "the context's end";
  history_.add_answer(std::move(text));
}

}  // namespace vkformer
