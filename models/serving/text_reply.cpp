#include "models/serving/text_reply.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace vkformer {

namespace {

using nlohmann::json;

json usage_of(const TextReplyEnd& end) {
  return {{"prompt_tokens", end.prompt_tokens},
          {"completion_tokens", end.answer_tokens},
          {"total_tokens", end.prompt_tokens + end.answer_tokens},
          {"prompt_tokens_details", {{"cached_tokens", end.reused_tokens}}}};
}

/// llama.cpp's names.
json timings_of(const TextReplyEnd& end) {
  const auto rate = [](int64_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
  };
  const int64_t run = end.prompt_tokens - end.reused_tokens;
  return {{"cache_n", end.reused_tokens},
          {"prompt_n", run},
          {"prompt_ms", end.prompt_seconds * 1e3},
          {"prompt_per_second", rate(run, end.prompt_seconds)},
          {"predicted_n", end.answer_tokens},
          {"predicted_ms", end.answer_seconds * 1e3},
          {"predicted_per_second", rate(end.answer_tokens, end.answer_seconds)}};
}

const char* reason_of(const TextReplyEnd& end, size_t calls) {
  return end.cut ? "length" : calls > 0 ? "tool_calls" : "stop";
}

json call_of(const TextReplyHead& head, const ToolCall& call, size_t number) {
  return {{"id", fmt::format("call-{}-{}", head.id, number)},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

json around(const TextReplyHead& head, bool piece, json choices) {
  return {{"id", head.id},
          {"object", !head.chat ? "text_completion"
                     : piece    ? "chat.completion.chunk"
                                : "chat.completion"},
          {"created", head.created},
          {"model", head.model},
          {"choices", std::move(choices)}};
}

/// A chat's piece has a "delta", another's a "text".
json piece_around(const TextReplyHead& head, json delta, const char* reason = nullptr) {
  json choice{{"index", 0}, {"finish_reason", reason ? json(reason) : json()}};
  if (head.chat)
    choice["delta"] = std::move(delta);
  else
    choice["text"] = delta.value("content", "");
  return around(head, true, json::array({std::move(choice)}));
}

}  // namespace

json whole_reply(const TextReplyHead& head, const TextReply& answer, const TextReplyEnd& end) {
  json choice{{"index", 0}, {"finish_reason", reason_of(end, answer.calls.size())}};
  if (head.chat) {
    json& message = choice["message"] = {{"role", "assistant"}, {"content", answer.text}};
    if (!answer.thoughts.empty()) message["reasoning_content"] = answer.thoughts;
    for (size_t i = 0; i < answer.calls.size(); ++i) message["tool_calls"].push_back(call_of(head, answer.calls[i], i));
    if (!answer.calls.empty() && answer.text.empty()) message["content"] = nullptr;
  } else {
    choice["text"] = answer.text;
  }
  json reply = around(head, false, json::array({std::move(choice)}));
  reply["usage"] = usage_of(end);
  reply["timings"] = timings_of(end);
  reply["seed"] = end.seed;
  return reply;
}

json first_piece(const TextReplyHead& head) { return piece_around(head, {{"role", "assistant"}, {"content", ""}}); }

json piece_of_reply(const TextReplyHead& head, const std::string& text, bool thought) {
  return piece_around(head, {{thought ? "reasoning_content" : "content", text}});
}

json piece_of_call(const TextReplyHead& head, const ToolCall& call, size_t number) {
  json part = call_of(head, call, number);
  part["index"] = number;
  return piece_around(head, {{"tool_calls", json::array({std::move(part)})}});
}

json last_piece(const TextReplyHead& head, const TextReplyEnd& end, size_t calls) {
  json piece = piece_around(head, json::object(), reason_of(end, calls));
  piece["timings"] = timings_of(end);
  piece["seed"] = end.seed;
  return piece;
}

json usage_piece(const TextReplyHead& head, const TextReplyEnd& end) {
  json piece = around(head, true, json::array());
  piece["usage"] = usage_of(end);
  return piece;
}

json error_reply(int status, std::string_view message) {
  const char* type = status == 401   ? "authentication_error"
                     : status == 403 ? "permission_error"
                     : status == 404 ? "not_found_error"
                     : status == 429 ? "rate_limit_error"
                     : status >= 500 ? "server_error"
                                     : "invalid_request_error";
  return {{"error", {{"message", message}, {"type", type}, {"code", status}}}};
}

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string event_of(const json& piece) { return "data: " + text_of(piece) + "\n\n"; }

}  // namespace vkformer
