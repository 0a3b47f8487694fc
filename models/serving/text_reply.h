#pragma once
// What a server answers to a TextRequest: OpenAI's objects, whole or piece by piece.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat/tool_calls.h"

namespace vkformer {

struct TextReplyHead {
  std::string id;       ///< "chatcmpl-..." or "cmpl-..."
  std::string model;    ///< name
  int64_t created = 0;  ///< seconds since 1970
  bool chat = false;
  bool tokens = false;        ///< each with its probability
  int64_t prompt_tokens = 0;  ///< of the first prompt
  size_t choice = 0;          ///< of a piece: which answer it belongs to
};

/// A token of an answer, with the natural logarithm of its probability.
struct ReplyToken {
  std::string text;            ///< its bytes, which may be a part of a character; of a special one its name
  double log_probability = 0;  ///< NaN: nothing stood before it
  std::vector<std::pair<std::string, double>> likeliest;  ///< in its place, the likeliest first
  size_t offset = 0;                                      ///< characters of the text before it
};

/// How an answer ended, and what it took.
struct TextReplyEnd {
  bool cut = false;       ///< by its longest length, not by the model or a stop text
  std::string stop = {};  ///< the stop text that ended it
  int64_t prompt_tokens = 0, reused_tokens = 0, answer_tokens = 0;
  int64_t guessed_tokens = 0, held_tokens = 0;  ///< see Speculation; 0 where nobody guessed
  int64_t thought_tokens = 0;                   ///< of the answer's, what is thought
  double prompt_seconds = 0, answer_seconds = 0;
  uint32_t seed = 0;  ///< with which the same answer comes again

  /// With another answer's tokens; `same_prompt`: to the same prompt, which counts once.
  void add(const TextReplyEnd& other, bool same_prompt);
};

/// All of an answer.
struct TextReply {
  std::string text = {};
  std::string thoughts = {};         ///< what the model wrote before it (DeepSeek's "reasoning_content")
  std::vector<ToolCall> calls = {};  ///< of tools
  std::vector<ReplyToken> tokens = {};
  TextReplyEnd end = {};
};
/// `all`: of all replies.
nlohmann::json whole_reply(const TextReplyHead& head, const std::vector<TextReply>& replies, const TextReplyEnd& all);

/// The pieces of an answer: the first (a chat's has the role), what comes, and how it ended.
nlohmann::json first_piece(const TextReplyHead& head);
nlohmann::json piece_of_reply(const TextReplyHead& head, const std::string& text, bool thought,
                              const std::vector<ReplyToken>& tokens = {});
/// The call of a tool, `number` of them having been before.
nlohmann::json piece_of_call(const TextReplyHead& head, const ToolCall& call, size_t number);
/// `calls`: of tools in the answer.
nlohmann::json last_piece(const TextReplyHead& head, const TextReplyEnd& end, size_t calls = 0);
/// Behind the last piece where a request asks for it: tokens alone.
nlohmann::json usage_piece(const TextReplyHead& head, const TextReplyEnd& end);

/// What an answer took, by llama.cpp's names.
nlohmann::json timings_of(const TextReplyEnd& end);
/// Of a call of which `number` were before: nine letters or digits, which Mistral's templates want.
std::string id_of_call(const TextReplyHead& head, size_t number);

/// {"error": ..} of an HTTP status; Anthropic's clients look for the "type" beside it.
nlohmann::json error_reply(int status, std::string_view message);

/// As a server-sent event.
std::string event_of(const nlohmann::json& piece);
/// JSON as it is sent: bytes that are no character become U+FFFD.
std::string text_of(const nlohmann::json& json);

}  // namespace vkformer
