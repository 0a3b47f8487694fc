#pragma once
// OpenAI's chat completions and completions.

#include "models/serving/reply_form.h"

namespace vkformer {

class CompletionsForm final : public ReplyForm {
 public:
  /// `usage`: of a stream, too.
  CompletionsForm(bool chat, bool usage) : chat_(chat), usage_(usage) {}

  const char* prefix() const override { return chat_ ? "chatcmpl-" : "cmpl-"; }
  nlohmann::json whole(const TextReplyHead& head, const std::vector<TextReply>& replies,
                       const TextReplyEnd& all) override;
  std::string begin(const TextReplyHead& head) override;
  std::string text(const TextReplyHead& head, const std::string& text, bool thought,
                   const std::vector<ReplyToken>& tokens) override;
  std::string call(const TextReplyHead& head, const ToolCall& call, size_t number) override;
  std::string end(const TextReplyHead& head, const TextReplyEnd& end, size_t calls) override;
  std::string end_of_all(const TextReplyHead& head, const TextReplyEnd& all) override;
  std::string failure(const TextReplyHead& head, std::string_view why) override;

 private:
  bool chat_, usage_;
};

}  // namespace vkformer
