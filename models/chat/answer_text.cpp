#include "models/chat/answer_text.h"

#include <algorithm>

#include "models/chat/tool_calls.h"

namespace vkformer {

AnswerText::Marks AnswerText::find_marks(const PromptText& tokenizer) {
  return {.channels = Channels::find([&](std::string_view token) { return tokenizer.special_id(token); }),
          .thinking = Thinking::find([&](std::string_view token) { return tokenizer.id_of(token); })};
}

std::unique_ptr<AnswerParts> AnswerText::parts_of(const PromptText& tokenizer, std::span<const int32_t> prompt,
                                                  const Marks& marks) {
  if (marks.channels)
    return std::make_unique<Channels>(
        *marks.channels, [&tokenizer](const auto& ids) { return tokenizer.decode(ids); }, prompt);
  if (marks.thinking) return std::make_unique<Thinking>(*marks.thinking, prompt);
  return nullptr;
}

AnswerText::AnswerText(const PromptText& tokenizer, std::span<const int32_t> prompt, const Marks& marks, Emit emit)
    : tokenizer_(tokenizer),
      prompt_(prompt.begin(), prompt.end()),
      emit_(std::move(emit)),
      calls_(marks.calls),
      shown_(marks.shown),
      parts_(parts_of(tokenizer, prompt, marks)),
      continuation_(tokenizer.stream(prompt)) {
  if (parts_) part_ = parts_->part();
}

AnswerPart AnswerText::enter(int32_t token) {
  const AnswerPart next = parts_ ? parts_->take(token) : part_;
  if (next != part_) {
    end();
    if (part_ == AnswerPart::call) write_mark(harmony_call_form.end);
    continuation_ = tokenizer_.stream(prompt_);
    part_ = next;
    begins_ = true;
    if (part_ == AnswerPart::call) write_mark(harmony_call_form.begin + parts_->called() + harmony_call_form.name_end);
  }
  return part_;
}

void AnswerText::add(int32_t token) {
  if (part_ == AnswerPart::header) return;
  if (std::ranges::find(shown_, token) == shown_.end()) return write(continuation_(token));
  end();
  continuation_ = tokenizer_.stream(prompt_);
  write(tokenizer_.decode_all({{token}}));
}

void AnswerText::write_mark(std::string_view mark) {
  if (calls_) emit_(std::string(mark), false);
}

void AnswerText::write(std::string piece) {
  if (begins_) piece.erase(0, piece.find_first_not_of("\r\n"));
  if (piece.empty()) return;
  begins_ = false;
  emit_(piece, part_ == AnswerPart::thought || (part_ == AnswerPart::call && !calls_));
}

}  // namespace vkformer
