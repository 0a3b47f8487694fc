#include "models/serving/text_reply.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;

json usage_of(const TextReplyEnd& end) {
  return {{"prompt_tokens", end.prompt_tokens},
          {"completion_tokens", end.answer_tokens},
          {"total_tokens", end.prompt_tokens + end.answer_tokens},
          {"prompt_tokens_details", {{"cached_tokens", end.reused_tokens}}}};
}

const char* reason_of(const TextReplyEnd& end, size_t calls) {
  return end.cut ? "length" : calls > 0 ? "tool_calls" : "stop";
}

json call_of(const TextReplyHead& head, const ToolCall& call, size_t number) {
  return {{"id", id_of_call(head, number)},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

/// As OpenAI writes a token that is no text: "bytes:\\xe2\\x80".
std::string name_of_token(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string name = "bytes:";
  for (const char byte : bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return name;
}

json number_or_null(double log_probability) { return std::isnan(log_probability) ? json() : json(log_probability); }

/// Of a conversation's token.
json token_of(const std::string& text, double log_probability) {
  const auto bytes = std::vector<uint8_t>(text.begin(), text.end());
  return {{"token", name_of_token(text)}, {"logprob", number_or_null(log_probability)}, {"bytes", bytes}};
}

json log_probabilities_of(const TextReplyHead& head, const std::vector<ReplyToken>& tokens) {
  if (head.chat) {
    json content = json::array();
    for (const ReplyToken& token : tokens) {
      content.push_back(token_of(token.text, token.log_probability));
      json& likeliest = content.back()["top_logprobs"] = json::array();
      for (const auto& [text, log_probability] : token.likeliest) likeliest.push_back(token_of(text, log_probability));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }
  json names = json::array(), own = json::array(), likeliest = json::array(), offsets = json::array();
  for (const ReplyToken& token : tokens) {
    names.push_back(name_of_token(token.text));
    own.push_back(number_or_null(token.log_probability));
    offsets.push_back(token.offset);
    json places;
    if (!std::isnan(token.log_probability)) {
      places = json{{names.back(), token.log_probability}};  // OpenAI's have the token itself, too
      for (const auto& [text, log_probability] : token.likeliest) places.emplace(name_of_token(text), log_probability);
    }
    likeliest.push_back(std::move(places));
  }
  return {{"tokens", std::move(names)},
          {"token_logprobs", std::move(own)},
          {"top_logprobs", std::move(likeliest)},
          {"text_offset", std::move(offsets)}};
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
json piece_around(const TextReplyHead& head, json delta, const char* reason = nullptr,
                  const std::vector<ReplyToken>& tokens = {}) {
  json choice{{"index", head.choice}, {"finish_reason", reason ? json(reason) : json()}};
  if (head.tokens) choice["logprobs"] = tokens.empty() ? json() : log_probabilities_of(head, tokens);
  if (head.chat)
    choice["delta"] = std::move(delta);
  else
    choice["text"] = delta.value("content", "");
  return around(head, true, json::array({std::move(choice)}));
}

}  // namespace

json timings_of(const TextReplyEnd& end) {
  const auto rate = [](int64_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
  };
  const int64_t run = end.prompt_tokens - end.reused_tokens;
  json timings{{"cache_n", end.reused_tokens},
               {"prompt_n", run},
               {"prompt_ms", end.prompt_seconds * 1e3},
               {"prompt_per_second", rate(run, end.prompt_seconds)},
               {"predicted_n", end.answer_tokens},
               {"predicted_ms", end.answer_seconds * 1e3},
               {"predicted_per_second", rate(end.answer_tokens, end.answer_seconds)}};
  if (end.guessed_tokens > 0) timings.update({{"draft_n", end.guessed_tokens}, {"draft_n_accepted", end.held_tokens}});
  return timings;
}

/// A hash (FNV-1a) of what is the call's own.
std::string id_of_call(const TextReplyHead& head, size_t number) {
  constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : fmt::format("{}-{}-{}-{}", head.created, head.id, head.choice, number))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  std::string id;
  for (int i = 0; i < 9; ++i, hash /= digits.size()) id += digits[hash % digits.size()];
  return id;
}

void TextReplyEnd::add(const TextReplyEnd& other, bool same_prompt) {
  if (!same_prompt) {
    prompt_tokens += other.prompt_tokens;
    reused_tokens += other.reused_tokens;
  }
  answer_tokens += other.answer_tokens;
}

json whole_reply(const TextReplyHead& head, const std::vector<TextReply>& replies, const TextReplyEnd& all) {
  json choices = json::array();
  for (const TextReply& answer : replies) {
    TextReplyHead own = head;
    own.choice = choices.size();
    json choice{{"index", own.choice}, {"finish_reason", reason_of(answer.end, answer.calls.size())}};
    if (head.chat) {
      json& message = choice["message"] = {{"role", "assistant"}, {"content", answer.text}};
      if (!answer.thoughts.empty()) message["reasoning_content"] = answer.thoughts;
      for (size_t i = 0; i < answer.calls.size(); ++i)
        message["tool_calls"].push_back(call_of(own, answer.calls[i], i));
      if (!answer.calls.empty() && answer.text.empty()) message["content"] = nullptr;
    } else {
      choice["text"] = answer.text;
    }
    if (head.tokens) choice["logprobs"] = log_probabilities_of(head, answer.tokens);
    choices.push_back(std::move(choice));
  }
  json reply = around(head, false, std::move(choices));
  reply["usage"] = usage_of(all);
  if (replies.size() == 1) reply["timings"] = timings_of(all);  // several take their time side by side
  reply["seed"] = all.seed;
  return reply;
}

json first_piece(const TextReplyHead& head) { return piece_around(head, {{"role", "assistant"}, {"content", ""}}); }

json piece_of_reply(const TextReplyHead& head, const std::string& text, bool thought,
                    const std::vector<ReplyToken>& tokens) {
  return piece_around(head, {{thought ? "reasoning_content" : "content", text}}, nullptr, tokens);
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
  return {{"type", "error"}, {"error", {{"message", message}, {"type", type}, {"code", status}}}};
}

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string event_of(const json& piece) { return "data: " + text_of(piece) + "\n\n"; }

}  // namespace vkformer
