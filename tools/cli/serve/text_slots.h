#pragma once
// Texts that are written side by side, a token of each in turn, by the one thread that has the device.

#include <list>

#include "models/generation/session.h"
#include "models/serving/stop_texts.h"
#include "tools/cli/answer_text.h"
#include "tools/cli/serve/text_job.h"

namespace vkformer {

struct SlotSettings {
  GeneratorShape shape;        ///< of each slot
  int64_t slots = 1;           ///< texts at a time
  size_t most_waiting = 64;    ///< jobs beside those
};

/// Counted since the start.
struct SlotCounts {
  int64_t busy = 0, waiting = 0;  ///< now
  int64_t jobs = 0, prompt_tokens = 0, answer_tokens = 0;
  double prompt_seconds = 0, answer_seconds = 0;
};

class TextSlots {
 public:
  /// `store`: of the weights, which all slots read. What is given must outlive this object.
  TextSlots(Backend& backend, const Model& model, std::shared_ptr<Store> store, const SlotSettings& settings,
            const PromptText& tokenizer);
  /// Positions of a slot.
  int64_t capacity() const;
  /// Compiles what every answer needs.
  void prepare();

  // From any thread.
  /// False where too many wait already. Behind the end of run() the job fails.
  bool submit(std::shared_ptr<TextJob> job);
  SlotCounts counts() const;

  /// Works until `ended`, which is asked between tokens and ten times a second; jobs that are not done then fail. A job
  /// that can't be done fails by itself. Throws DeviceLost.
  void run(const std::function<bool()>& ended);

 private:
  struct Slot;
  void hand_out();
  void start(Slot& slot, std::shared_ptr<TextJob> job);
  void step(Slot& slot);
  void write_token(Slot& slot, std::span<const float> logits);
  void finish(Slot& slot, bool cut);
  void close(const std::string& why);

  const PromptText& tokenizer_;
  std::optional<Channels::Marks> marks_;
  SlotSettings settings_;
  std::list<Slot> slots_;
  int64_t starts_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::shared_ptr<TextJob>> waiting_;
  bool closed_ = false;
  SlotCounts counts_;
};

}  // namespace vkformer
