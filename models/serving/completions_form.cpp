#include "models/serving/completions_form.h"

#include <nlohmann/json.hpp>

namespace vkformer {

nlohmann::json CompletionsForm::whole(const TextReplyHead& head, const std::vector<TextReply>& replies,
                                      const TextReplyEnd& all) {
  return whole_reply(head, replies, all);
}

std::string CompletionsForm::begin(const TextReplyHead& head) { return chat_ ? event_of(first_piece(head)) : ""; }

std::string CompletionsForm::text(const TextReplyHead& head, const std::string& text, bool thought,
                                  const std::vector<ReplyToken>& tokens) {
  return event_of(piece_of_reply(head, text, thought, tokens));
}

std::string CompletionsForm::call(const TextReplyHead& head, const ToolCall& call, size_t number) {
  return event_of(piece_of_call(head, call, number));
}

std::string CompletionsForm::end(const TextReplyHead& head, const TextReplyEnd& end, size_t calls) {
  return event_of(last_piece(head, end, calls));
}

std::string CompletionsForm::end_of_all(const TextReplyHead& head, const TextReplyEnd& all) {
  return (usage_ ? event_of(usage_piece(head, all)) : "") + "data: [DONE]\n\n";
}

std::string CompletionsForm::failure(const TextReplyHead&, std::string_view why) {
  return event_of(error_reply(500, why));
}

}  // namespace vkformer
