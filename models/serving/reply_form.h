#pragma once
// How an API writes answers: whole, or as the events of a stream.

#include "models/serving/text_reply.h"

namespace vkformer {

/// Of one request. What is streamed is text as it is sent; "" sends nothing. Heads differ in their choice.
class ReplyForm {
 public:
  virtual ~ReplyForm() = default;
  /// What ids of replies begin with.
  virtual const char* prefix() const = 0;
  /// `all`: of all replies.
  virtual nlohmann::json whole(const TextReplyHead& head, const std::vector<TextReply>& replies,
                               const TextReplyEnd& all) = 0;

  /// Before anything of an answer.
  virtual std::string begin(const TextReplyHead&) { return {}; }
  virtual std::string text(const TextReplyHead& head, const std::string& text, bool thought,
                           const std::vector<ReplyToken>& tokens) = 0;
  /// The call of a tool, `number` of them having been before.
  virtual std::string call(const TextReplyHead& head, const ToolCall& call, size_t number) = 0;
  /// Behind the last of an answer. `calls`: of tools in it.
  virtual std::string end(const TextReplyHead& head, const TextReplyEnd& end, size_t calls) = 0;
  /// Behind all answers.
  virtual std::string end_of_all(const TextReplyHead&, const TextReplyEnd&) { return {}; }
  /// In place of all that would follow.
  virtual std::string failure(const TextReplyHead& head, std::string_view why) = 0;
};

}  // namespace vkformer
