#pragma once
// What a server is asked to write: OpenAI's requests for chat completions and completions, with the names that
// llama.cpp's server added. Nothing here knows HTTP or a device.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/generation/generation_config.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// Of what is not given the server's own settings hold.
struct TextRequest {
  // What to go on with.
  nlohmann::ordered_json messages;  ///< of a conversation; null: `prompts` are gone on with as they are
  /// Files that are shown, in the order of the parts {"type": "image"} of the messages, whose content is a list then.
  struct Picture {
    std::string bytes, name;  ///< `name`: what errors call it
  };
  std::vector<Picture> pictures;
  std::string begun;  ///< what the answer goes on with: the last message, the assistant's, which `messages` then lack
  nlohmann::ordered_json template_variables = nlohmann::ordered_json::object();  ///< beside the conversation
  struct Prompt {
    std::string text;  ///< or, where it is empty:
    std::vector<int32_t> ids;
  };
  std::vector<Prompt> prompts;  ///< that a completion goes on with, each by itself
  bool special_tokens = true;   ///< of the tokenizer, around a prompt's text
  bool echo = false;            ///< the prompt's text is part of the answer
  int64_t choices = 1;          ///< answers to each

  // How.
  std::optional<int64_t> max_tokens;  ///< 0: nothing but the prompt, whose tokens are scored
  bool cut_to_room = false;           ///< an answer that has no room for so many is shorter, not refused
  /// Each token comes with the logarithm of its probability, and so many of the likeliest in its place.
  std::optional<int64_t> likeliest;
  std::optional<double> temperature, top_p, min_p;
  std::optional<int64_t> top_k;
  std::optional<uint32_t> seed;
  std::optional<double> repeat_penalty, presence_penalty, frequency_penalty;
  std::optional<int64_t> repeat_last;
  std::vector<std::pair<int32_t, double>> logit_bias;
  std::vector<std::string> stops;
  /// OpenAI's, which the model may call; null: none.
  nlohmann::ordered_json tools;
  /// Whether it must: one of them, or `tool`, if that is set.
  bool must_call = false;
  std::string tool;
  bool several_calls = true;
  std::string grammar;  ///< that the answer keeps to, as GBNF; empty: any

  // And how it is sent.
  bool stream = false;         ///< piece by piece
  bool include_usage = false;  ///< with a last piece that counts tokens
  bool cache_prompt = true;    ///< what a cache holds of the prompt is not run again

  bool chat() const { return !messages.is_null(); }
  /// These settings in place of the server's own.
  GenerationConfig over(GenerationConfig config) const;
};

/// Of the bodies of POST /v1/chat/completions and POST /v1/completions. Throw Error for what is no such request, for
/// values outside of what can be meant, and for what would change the answer but is not supported.
/// At most `most_choices` answers are written to a request.
inline constexpr int64_t most_choices = 128, most_likeliest = 20;
TextRequest parse_chat_request(std::string_view body);
TextRequest parse_completion_request(std::string_view body);
/// The former, of a body that was read, once in the order of its keys; slips are let pass.
TextRequest chat_request_of(const JsonObject& json, const nlohmann::ordered_json& ordered);
/// A list of them. Throws Error for anything else.
std::vector<int32_t> token_ids_of(const JsonObject& json, const char* key);

}  // namespace vkformer
