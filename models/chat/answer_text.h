#pragma once
// The text of an answer, piece by piece as its tokens come.

#include <functional>
#include <optional>

#include "models/chat/channels.h"
#include "models/chat/thinking.h"
#include "models/text/prompt_text.h"

namespace vkformer {

class AnswerText {
 public:
  /// `thought`: not of the answer.
  using Emit = std::function<void(const std::string& text, bool thought)>;

  /// What tells a tokenizer's thoughts from answers. Without either all is the answer.
  struct Marks {
    std::optional<Channels::Marks> channels;
    std::optional<Thinking::Marks> thinking;
    /// Calls of tools are text of the answer, written as `harmony_call_form` says; otherwise they are thoughts.
    bool calls = false;
    /// Special tokens that are text: those around such calls.
    std::vector<int32_t> shown = {};
    /// Leaves out what ends a message, of which an answer may have more.
    void spare_messages(std::vector<int32_t>& end_ids) const {
      if (channels) std::erase(end_ids, channels->end);
    }
  };
  static Marks find_marks(const PromptText& tokenizer);
  /// Of an answer to `prompt`; nullptr where all is the answer. `tokenizer` must outlive it.
  static std::unique_ptr<AnswerParts> parts_of(const PromptText& tokenizer, std::span<const int32_t> prompt,
                                               const Marks& marks);

  /// What follows `prompt`. `tokenizer` must outlive this object.
  AnswerText(const PromptText& tokenizer, std::span<const int32_t> prompt, const Marks& marks, Emit emit);
  void take(int32_t token) {
    enter(token);
    add(token);
  }
  /// The same in two steps: what the token is part of, before which is written what was kept back of another part; then
  /// its text.
  AnswerPart enter(int32_t token);
  void add(int32_t token);
  /// Behind the last token: what was kept back of a character.
  void end() { write(continuation_({})); }

 private:
  void write(std::string piece);
  void write_mark(std::string_view mark);

  const PromptText& tokenizer_;
  std::vector<int32_t> prompt_;
  Emit emit_;
  bool calls_;
  std::vector<int32_t> shown_;
  std::unique_ptr<AnswerParts> parts_;
  AnswerPart part_ = AnswerPart::answer;
  bool begins_ = false;  ///< a part, before which line ends say nothing
  std::function<std::string(std::optional<int32_t>)> continuation_;
};

}  // namespace vkformer
