#include "tools/cli/answer_text.h"

namespace vkformer {

std::optional<Channels::Marks> AnswerText::find_marks(const PromptText& tokenizer) {
  return Channels::find([&](std::string_view token) { return tokenizer.special_id(token); });
}

AnswerText::AnswerText(const PromptText& tokenizer, std::span<const int32_t> prompt,
                       const std::optional<Channels::Marks>& marks, Emit emit)
    : tokenizer_(tokenizer),
      prompt_(prompt.begin(), prompt.end()),
      emit_(std::move(emit)),
      continuation_(tokenizer.stream(prompt)) {
  if (!marks) return;
  channels_.emplace(
      *marks, [this](const auto& ids) { return tokenizer_.decode(ids); }, prompt_);
  part_ = channels_->part();
}

void AnswerText::take(int32_t token) {
  const auto next = channels_ ? channels_->take(token) : part_;
  if (next != part_) {
    end();
    continuation_ = tokenizer_.stream(prompt_);
    part_ = next;
  }
  if (part_ != Channels::Part::header) write(continuation_(token));
}

}  // namespace vkformer
