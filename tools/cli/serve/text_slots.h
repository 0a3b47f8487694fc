#pragma once
// Texts that are written side by side by the one thread that has the device: each prompt by itself, then a token of
// each in one run.

#include "models/chat/answer_text.h"
#include "models/generation/session_group.h"
#include "models/serving/stop_texts.h"
#include "tools/cli/draft_setup.h"
#include "tools/cli/serve/text_job.h"

namespace vkformer {

/// Counted since the start.
struct SlotCounts {
  int64_t busy = 0, waiting = 0;  ///< now
  int64_t jobs = 0, prompt_tokens = 0, answer_tokens = 0;
  double prompt_seconds = 0, answer_seconds = 0;
};

class TextSlots {
 public:
  /// A slot for each session of `group`, and as many jobs as wait beside them. `drafts`: who guesses a text that is
  /// written alone. What is given must outlive this object.
  TextSlots(SessionGroup& group, const PromptText& tokenizer, const DraftSetup& drafts, size_t most_waiting);
  ~TextSlots();
  /// Positions of a slot.
  int64_t capacity() const { return group_.shape().capacity; }
  /// Whether these are all that the model has.
  bool is_longest() const { return group_.is_longest(); }
  /// Jobs that can be submitted while nobody else asks.
  size_t most_jobs() const { return most_waiting_ + slots_.size(); }

  // From any thread.
  /// All of these, or false where too many wait already. Behind the end of run() they fail.
  bool submit(std::vector<std::unique_ptr<TextJob>> jobs);
  SlotCounts counts() const;
  /// Which of the slots write.
  std::vector<bool> busy_slots() const;

  /// Works until `ended`, which is asked between tokens and ten times a second; jobs that are not done then fail. A job
  /// that can't be done fails by itself. Throws DeviceLost.
  void run(const std::function<bool()>& ended);

 private:
  struct Slot;
  using Slots = std::vector<Slot*>;
  void forget_cancelled();  ///< of those that wait; with the lock
  void hand_out();
  void start(Slot& slot, std::unique_ptr<TextJob> job);
  /// Some more of its prompt, and behind its end the first token of the answer.
  void run_prompt(Slot& slot);
  /// A token of each of these.
  void write_tokens(const Slots& slots);
  /// One of this one, or several that were guessed.
  void write_alone(Slot& slot);
  /// The same of a prompt whose tokens are scored.
  void score_prompt(Slot& slot, size_t most);
  void note_token(Slot& slot, int32_t token, double log_probability,
                  std::span<const std::pair<int32_t, double>> likeliest);
  std::optional<std::string> bytes_of(int32_t id) const;
  void write_token(Slot& slot, std::span<const float> logits, std::span<const int32_t> choices);
  void finish(Slot& slot, bool cut);
  void fail(Slot& slot, const std::string& why);
  void close(const std::string& why);

  SessionGroup& group_;
  const PromptText& tokenizer_;
  size_t most_waiting_;
  std::vector<std::unique_ptr<Slot>> slots_;
  int64_t starts_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::unique_ptr<TextJob>> waiting_;
  bool closed_ = false;
  SlotCounts counts_;
};

}  // namespace vkformer
