#include <fmt/format.h>

#include "models/serving/messages.h"

namespace vkformer {

namespace {

using nlohmann::json;

std::string event(const char* type, json fields) {
  fields["type"] = type;
  return fmt::format("event: {}\n{}", type, event_of(fields));
}

json usage_of_message(int64_t prompt_tokens, const TextReplyEnd& end) {
  return {{"input_tokens", prompt_tokens - end.reused_tokens},  // those that were run
          {"cache_read_input_tokens", end.reused_tokens},
          {"cache_creation_input_tokens", 0},
          {"output_tokens", end.answer_tokens}};
}

json stop_of(const TextReplyEnd& end, size_t calls) {
  const char* reason = end.cut             ? "max_tokens"
                       : calls > 0         ? "tool_use"
                       : !end.stop.empty() ? "stop_sequence"
                                           : "end_turn";
  return {{"stop_reason", reason}, {"stop_sequence", end.stop.empty() ? json() : json(end.stop)}};
}

json text_block(const std::string& text, bool thought) {
  if (thought) return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
  return {{"type", "text"}, {"text", text}};
}

json call_block(const TextReplyHead& head, const ToolCall& call, size_t number, json input) {
  return {{"type", "tool_use"}, {"id", id_of_call(head, number)}, {"name", call.name}, {"input", std::move(input)}};
}

json message_of(const TextReplyHead& head, json content, const TextReplyEnd& end) {
  return {{"id", head.id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", head.model},
          {"content", std::move(content)},
          {"stop_reason", nullptr},
          {"stop_sequence", nullptr},
          {"usage", usage_of_message(head.prompt_tokens, end)}};
}

}  // namespace

json MessagesForm::whole(const TextReplyHead& head, const std::vector<TextReply>& replies, const TextReplyEnd&) {
  const TextReply& reply = replies.front();
  json content = json::array();
  if (!reply.thoughts.empty()) content.push_back(text_block(reply.thoughts, true));
  if (!reply.text.empty()) content.push_back(text_block(reply.text, false));
  for (size_t i = 0; i < reply.calls.size(); ++i)
    content.push_back(call_block(head, reply.calls[i], i, json::parse(reply.calls[i].arguments, nullptr, false)));
  json message = message_of(head, std::move(content), reply.end);
  message.update(stop_of(reply.end, reply.calls.size()));
  message["timings"] = timings_of(reply.end);
  message["seed"] = reply.end.seed;
  return message;
}

std::string MessagesForm::open(json block) {
  open_ = true;
  return event("content_block_start", {{"index", blocks_}, {"content_block", std::move(block)}});
}

std::string MessagesForm::delta(json delta) const {
  return event("content_block_delta", {{"index", blocks_}, {"delta", std::move(delta)}});
}

std::string MessagesForm::close() {
  if (!open_) return {};
  open_ = false;
  return event("content_block_stop", {{"index", blocks_++}});
}

std::string MessagesForm::begin(const TextReplyHead& head) {
  return event("message_start", {{"message", message_of(head, json::array(), {})}});
}

std::string MessagesForm::text(const TextReplyHead&, const std::string& text, bool thought,
                               const std::vector<ReplyToken>&) {
  std::string events;
  if (thought != thought_) events = close();
  thought_ = thought;
  if (!open_) events += open(text_block("", thought));
  return events + delta(thought ? json{{"type", "thinking_delta"}, {"thinking", text}}
                                : json{{"type", "text_delta"}, {"text", text}});
}

std::string MessagesForm::call(const TextReplyHead& head, const ToolCall& call, size_t number) {
  std::string events = close();
  events += open(call_block(head, call, number, json::object()));
  events += delta({{"type", "input_json_delta"}, {"partial_json", call.arguments}});
  return events + close();
}

std::string MessagesForm::end(const TextReplyHead&, const TextReplyEnd& end, size_t calls) {
  const std::string events = close();
  return events +
         event("message_delta", {{"delta", stop_of(end, calls)}, {"usage", usage_of_message(end.prompt_tokens, end)}}) +
         event("message_stop", json::object());
}

std::string MessagesForm::failure(const TextReplyHead&, std::string_view why) {
  return event("error", {{"error", {{"type", "api_error"}, {"message", why}}}});
}

}  // namespace vkformer
