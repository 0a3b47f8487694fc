#pragma once
// Anthropic's Messages: the same requests and answers as OpenAI's chat completions', under other names.

#include <nlohmann/json.hpp>

#include "models/serving/reply_form.h"
#include "models/serving/text_request.h"

namespace vkformer {

/// Of the body of POST /v1/messages or, where nothing but the prompt `counts`, of /v1/messages/count_tokens. Throws
/// Error like parse_chat_request().
TextRequest parse_messages_request(std::string_view body, bool counts = false);

class MessagesForm final : public ReplyForm {
 public:
  const char* prefix() const override { return "msg_"; }
  nlohmann::json whole(const TextReplyHead& head, const std::vector<TextReply>& replies,
                       const TextReplyEnd& all) override;
  std::string begin(const TextReplyHead& head) override;
  std::string text(const TextReplyHead& head, const std::string& text, bool thought,
                   const std::vector<ReplyToken>& tokens) override;
  std::string call(const TextReplyHead& head, const ToolCall& call, size_t number) override;
  std::string end(const TextReplyHead& head, const TextReplyEnd& end, size_t calls) override;
  std::string failure(const TextReplyHead& head, std::string_view why) override;

 private:
  std::string open(nlohmann::json block);
  std::string delta(nlohmann::json delta) const;
  std::string close();

  bool open_ = false, thought_ = false;  ///< a block that comes; of thoughts
  int64_t blocks_ = 0;                   ///< that were before it
};

}  // namespace vkformer
