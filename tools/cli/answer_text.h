#pragma once
// The text of an answer, piece by piece as its tokens come.

#include <functional>
#include <optional>

#include "models/chat/channels.h"
#include "tools/cli/prompt_text.h"

namespace vkformer {

class AnswerText {
 public:
  /// `thought`: not of the answer, see Channels.
  using Emit = std::function<void(const std::string& text, bool thought)>;

  /// The marks that a tokenizer has for answers in several messages; nothing where it has none.
  static std::optional<Channels::Marks> find_marks(const PromptText& tokenizer);

  /// What follows `prompt`. `tokenizer` must outlive this object. `marks`: nothing, and all is the answer.
  AnswerText(const PromptText& tokenizer, std::span<const int32_t> prompt, const std::optional<Channels::Marks>& marks,
             Emit emit);
  void take(int32_t token);
  /// Behind the last token: what was kept back of a character.
  void end() { write(continuation_({})); }

 private:
  void write(const std::string& piece) {
    if (!piece.empty()) emit_(piece, part_ == Channels::Part::thought);
  }

  const PromptText& tokenizer_;
  std::vector<int32_t> prompt_;
  Emit emit_;
  std::optional<Channels> channels_;
  Channels::Part part_ = Channels::Part::answer;
  std::function<std::string(std::optional<int32_t>)> continuation_;
};

}  // namespace vkformer
