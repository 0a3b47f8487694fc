#include "models/serving/text_request.h"

#include <set>

#include "models/constraint/json_schema.h"
#include "models/serving/request_slips.h"
#include "models/text/precompiled_charsmap.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/text_number.h"

namespace vkformer {

namespace {

constexpr size_t most_stops = 32, most_pictures = 16;

/// What would change an answer but is not there, with the values that change nothing.
const nlohmann::json& neutral_values() {
  static const nlohmann::json values = nlohmann::json::parse(R"({
    "n_probs": 0, "image_data": [], "multi_modal_data": null, "return_tokens": false, "suffix": "",
    "functions": [], "modalities": ["text"], "audio": null,
    "min_tokens": 0, "ignore_eos": false, "typical_p": 1, "mirostat": 0, "xtc_probability": 0,
    "dry_multiplier": 0, "dynatemp_range": 0, "lora": [], "typical": 1, "tfs_z": 1, "top_n_sigma": -1, "samplers": null,
    "stop_token_ids": [], "bad_words": [], "allowed_token_ids": null, "prompt_logprobs": null,
    "top_a": 0, "truncate_prompt_tokens": null, "return_tokens_as_token_ids": false, "use_beam_search": false, "length_penalty": 1, "guided_json": null,
    "guided_regex": null, "guided_choice": null, "guided_grammar": null, "structured_outputs": null})");
  return values;
}

void check_supported(const JsonObject& json) {
  for (const auto& [key, neutral] : neutral_values().items())
    check(!json.has(key) || json.value()[key] == neutral, "\"{}\" must be {} or left out: nothing else is supported",
          key, neutral.dump());
}

std::optional<int64_t> optional_integer(const JsonObject& json, const char* key, int64_t min, int64_t max) {
  return json.has(key) ? std::optional(require_integer(json, key, min, max)) : std::nullopt;
}

std::optional<double> optional_number(const JsonObject& json, const char* key, double min, double max) {
  return json.has(key) ? std::optional(require_number(json, key, min, max)) : std::nullopt;
}

/// {"image_url": {"url": "data:image/png;base64,.."}}, or the address itself. Nothing is fetched.
TextRequest::Picture picture_of(const JsonObject& part) {
  constexpr const char* key = "image_url";
  const bool bare = part.has(key) && part.value()[key].is_string();
  const std::string url = bare ? require_string(part, key) : require_string(require_object(part, key), "url");
  const std::string name = fmt::format("{}, {}", part.name(), key);
  check(url.starts_with("data:"), "{}: {} is not fetched; send the picture itself, as \"data:image/png;base64,..\"",
        name, in_quotes(url, 60));
  const size_t comma = url.find(',');
  check(comma != url.npos && std::string_view(url).substr(0, comma).ends_with(";base64"),
        "{}: the data are not base64; send \"data:image/png;base64,..\"", name);
  try {
    return {.bytes = from_base64(std::string_view(url).substr(comma + 1)), .name = name};
  } catch (const Error&) {
    fail("{}: the data are not base64; send \"data:image/png;base64,..\"", name);
  }
}

/// A text, or a list of parts that are texts and pictures; of texts alone the whole text.
nlohmann::ordered_json content_of(const JsonObject& message, std::vector<TextRequest::Picture>& pictures) {
  if (!message.has("content")) return "";
  if (message.value()["content"].is_string()) return require_string(message, "content");
  const size_t before = pictures.size();
  std::string text;
  auto parts = nlohmann::ordered_json::array();
  for (const JsonObject& part : require_objects(message, "content")) {
    const std::string type = require_string(part, "type");
    check(type == "text" || type == "image_url",
          "{}: parts of type \"{}\" are not supported; a message has text and, for models that see, image_url",
          part.name(), printable(type, 60));
    if (type == "image_url") {
      pictures.push_back(picture_of(part));
      check(pictures.size() <= most_pictures, "{}: the request has more than {} pictures; send fewer", part.name(),
            most_pictures);
      parts.push_back({{"type", "image"}});
      continue;
    }
    const std::string words = require_string(part, "text");
    text += words;
    parts.push_back({{"type", "text"}, {"text", words}});
  }
  return pictures.size() > before ? parts : nlohmann::ordered_json(text);
}

/// Templates write the arguments of a call as JSON; clients send its text.
void read_arguments(nlohmann::ordered_json& calls) {
  if (!calls.is_array()) return;
  for (auto& call : calls) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
    auto& arguments = call["function"]["arguments"];
    if (!arguments.is_string()) continue;
    try {
      const std::string text = arguments;
      arguments = parse_json_in_order(text, "arguments");
    } catch (const Error&) {  // what is none stays text
    }
  }
}

nlohmann::ordered_json messages_of(const JsonObject& json, const nlohmann::ordered_json& ordered,
                                   std::vector<TextRequest::Picture>& pictures) {
  auto messages = nlohmann::ordered_json::array();
  for (const JsonObject& message : require_objects(json, "messages")) {
    nlohmann::ordered_json copy = ordered["messages"][messages.size()];
    copy["role"] = require_string(message, "role");
    copy["content"] = content_of(message, pictures);
    if (copy.contains("tool_calls")) read_arguments(copy["tool_calls"]);
    messages.push_back(std::move(copy));
  }
  check(!messages.empty(), "\"messages\" is empty; give at least one message");
  return messages;
}

/// Takes the last message away where the answer goes on with it: the assistant's, of text alone.
void take_begun(const JsonObject& json, TextRequest& request) {
  const nlohmann::ordered_json& last = request.messages.back();
  const bool can = last["role"] == "assistant" && last["content"].is_string() && last["content"] != "" &&
                   (!last.contains("tool_calls") || last["tool_calls"].empty()) && request.messages.size() > 1;
  const bool goes_on = boolean_or(json, "continue_final_message", can),
             begins = boolean_or(json, "add_generation_prompt", true);
  check(goes_on || begins,
        "\"add_generation_prompt\" is false, but the answer goes on with no message of the assistant's");
  if (!goes_on) return;
  check(can, "\"continue_final_message\" is true, but the last message is no text of the assistant's behind another");
  request.begun = last["content"];
  request.messages.erase(request.messages.size() - 1);
}

std::vector<int32_t> ids_of(const nlohmann::json& list, const char* key) {
  check(list.is_array(), "\"{}\" must be a list of token ids", key);
  std::vector<int32_t> ids;
  for (const auto& id : list) {
    check(id.is_number_integer() && id >= 0 && id <= INT32_MAX, "\"{}\": {} is no token id", key,
          printable(id.dump(), 60));
    ids.push_back(id);
  }
  return ids;
}

/// A text, a list of ids, or a list of either.
std::vector<TextRequest::Prompt> prompts_of(const nlohmann::json& prompt, bool in_list = false) {
  if (prompt.is_string()) {
    check(!prompt.get_ref<const std::string&>().empty(), "\"prompt\" is empty");
    return {{.text = prompt}};
  }
  check(prompt.is_array() && !prompt.empty(), "\"prompt\" must be a text, a list of token ids, or a list of these");
  if (prompt[0].is_number_integer()) return {{.ids = ids_of(prompt, "prompt")}};
  check(prompt.size() <= most_choices, "\"prompt\" has {} texts; {} are the most", prompt.size(), most_choices);
  std::vector<TextRequest::Prompt> prompts;
  for (const auto& one : prompt) {
    check(!in_list, "\"prompt\" must be a text, a list of token ids, or a list of these");
    prompts.push_back(prompts_of(one, true).front());
  }
  return prompts;
}

std::vector<std::string> stops_of(const JsonObject& json) {
  if (!json.has("stop")) return {};
  const nlohmann::json& stop = json.value()["stop"];
  const auto list = stop.is_array() ? stop : nlohmann::json::array({stop});
  check(list.size() <= most_stops, "\"stop\" has {} texts; {} are supported", list.size(), most_stops);
  std::vector<std::string> stops;
  for (const auto& text : list) {
    check(text.is_string() && !text.get_ref<const std::string&>().empty(),
          "\"stop\" must be a text or a list of texts, none of them empty");
    stops.push_back(text);
  }
  return stops;
}

std::vector<std::pair<int32_t, double>> logit_bias_of(const JsonObject& json) {
  std::vector<std::pair<int32_t, double>> biases;
  if (!json.has("logit_bias")) return biases;
  const JsonObject object = require_object(json, "logit_bias");
  for (const auto& [key, value] : object.value().items()) {
    const int32_t id = number_in<int32_t>(key).value_or(-1);
    check(id >= 0, "\"logit_bias\": {} is no token id", in_quotes(key));
    biases.emplace_back(id, require_number(object, key, -1e3, 1e3));
  }
  return biases;
}

/// OpenAI's "response_format", or llama.cpp's "grammar" and "json_schema".
std::string grammar_of(const JsonObject& json, const nlohmann::ordered_json& ordered) {
  std::vector<std::string> grammars;
  if (const std::string grammar = string_or(json, "grammar", ""); !grammar.empty()) grammars.push_back(grammar);
  if (json.has("json_schema")) grammars.push_back(gbnf_of_schema(ordered["json_schema"], "json_schema"));
  if (json.has("response_format")) {
    const JsonObject format = require_object(json, "response_format");
    const std::string type = require_string(format, "type");
    const auto& asked = ordered["response_format"];
    if (type == "json_schema") {
      check(require_object(format, "json_schema").has("schema"), "{}: \"schema\" is missing", format.name());
      grammars.push_back(gbnf_of_schema(asked["json_schema"]["schema"], "the schema"));
    } else if (type == "json_object") {
      grammars.push_back(gbnf_of_schema(
          format.has("schema") ? asked["schema"] : nlohmann::ordered_json{{"type", "object"}}, "the schema"));
    } else {
      check(type == "text", "{}: there is no type {}; take text, json_object or json_schema", format.name(),
            in_quotes(type));
    }
  }
  check(grammars.size() < 2,
        "an answer has one form: give one of \"response_format\", \"json_schema\" and \"grammar\"");
  return grammars.empty() ? "" : grammars.front();
}

/// `ordered`: the same request, in which keys have their order: schemas and templates show it.
TextRequest settings_of(const JsonObject& json, const nlohmann::ordered_json& ordered) {
  check_supported(json);
  TextRequest request;
  for (const char* key : {"max_completion_tokens", "max_tokens", "n_predict"})
    if (json.has(key) && !request.max_tokens && json.value()[key] != -1)
      request.max_tokens = require_integer(json, key, 0, INT32_MAX);
  request.choices = optional_integer(json, "n", 1, most_choices).value_or(1);
  check(!json.has("best_of") || json.value()["best_of"] == request.choices,
        "\"best_of\" must be what \"n\" is: all that is written is sent");
  request.temperature = optional_number(json, "temperature", 0, 100);
  request.top_p = optional_number(json, "top_p", 0, 1);
  request.min_p = optional_number(json, "min_p", 0, 1);
  request.top_k = optional_integer(json, "top_k", -1, INT32_MAX);
  if (json.has("seed") && json.value()["seed"] != -1)  // clients' have 64 bits, ours 32
    request.seed = static_cast<uint32_t>(require_integer(json, "seed", INT64_MIN, INT64_MAX));
  request.repeat_penalty =
      optional_number(json, json.has("repeat_penalty") ? "repeat_penalty" : "repetition_penalty", 1e-3, 1e3);
  request.presence_penalty = optional_number(json, "presence_penalty", -1e3, 1e3);
  request.frequency_penalty = optional_number(json, "frequency_penalty", -1e3, 1e3);
  request.repeat_last = optional_integer(json, "repeat_last_n", -1, INT32_MAX);
  request.logit_bias = logit_bias_of(json);
  request.stops = stops_of(json);
  request.grammar = grammar_of(json, ordered);
  request.stream = boolean_or(json, "stream", false);
  request.cache_prompt = boolean_or(json, "cache_prompt", true);
  if (json.has("stream_options"))
    request.include_usage = boolean_or(require_object(json, "stream_options"), "include_usage", false);
  return request;
}

/// "tools", and which of them must be called.
void take_tools(const JsonObject& json, const nlohmann::ordered_json& ordered, TextRequest& request) {
  std::set<std::string> names;
  if (json.has("tools"))
    for (const JsonObject& tool : require_objects(json, "tools")) {
      const std::string type = require_string(tool, "type");
      check(type == "function", "{}: tools of type {} are not supported; a tool is a function", tool.name(),
            in_quotes(type));
      names.insert(require_string(require_object(tool, "function"), "name"));
    }
  const nlohmann::json choice = json.has("tool_choice") ? json.value()["tool_choice"] : nlohmann::json("auto");
  if (choice == "none") return;
  request.must_call = choice != "auto";
  if (request.must_call && choice != "required") {
    request.tool = require_string(require_object(require_object(json, "tool_choice"), "function"), "name");
    check(names.contains(request.tool), "\"tool_choice\": {} is none of the tools", in_quotes(request.tool));
  }
  check(!request.must_call || !names.empty(), "\"tool_choice\" wants a call, but there are no tools");
  check(!request.must_call || request.grammar.empty(), "an answer that must be a call has no other form");
  request.several_calls = boolean_or(json, "parallel_tool_calls", true);
  if (!names.empty()) request.tools = ordered["tools"];
}

}  // namespace

std::vector<int32_t> token_ids_of(const JsonObject& json, const char* key) {
  check(json.has(key), "\"{}\" is missing", key);
  return ids_of(json.value()[key], key);
}

GenerationConfig TextRequest::over(GenerationConfig config) const {
  if (max_tokens) {
    config.max_new_tokens = max_tokens;
    config.max_length.reset();
  }
  const bool draws = temperature || top_p || min_p || top_k;
  config.do_sample = config.do_sample || draws;
  config.temperature_last = config.temperature_last || draws;
  config.temperature = temperature.value_or(config.temperature);
  config.top_p = top_p.value_or(config.top_p);
  config.min_p = min_p.value_or(config.min_p);
  config.top_k = std::max<int64_t>(0, top_k.value_or(config.top_k));
  if (config.temperature == 0) config.do_sample = false;
  config.seed = seed.value_or(config.seed);
  RecentPenalties& recent = config.recent_penalties;
  if (repeat_penalty) config.repetition_penalty = 1;  // the server's has the same purpose
  recent.repeat = repeat_penalty.value_or(recent.repeat);
  recent.presence = presence_penalty.value_or(recent.presence);
  recent.frequency = frequency_penalty.value_or(recent.frequency);
  recent.last = repeat_last.value_or(recent.last);
  config.logit_bias.insert(config.logit_bias.end(), logit_bias.begin(), logit_bias.end());
  return config;
}

TextRequest chat_request_of(const JsonObject& json, const nlohmann::ordered_json& ordered) {
  TextRequest request = settings_of(json, ordered);
  request.messages = messages_of(json, ordered, request.pictures);
  take_begun(json, request);
  check(!json.has("logprobs") || json.value()["logprobs"].is_boolean(),
        "\"logprobs\" of a conversation is true or false; \"top_logprobs\" is how many of the likeliest come");
  if (boolean_or(json, "logprobs", false))
    request.likeliest = optional_integer(json, "top_logprobs", 0, most_likeliest).value_or(0);
  else
    check(!json.has("top_logprobs") || json.value()["top_logprobs"] == 0, "\"top_logprobs\" needs \"logprobs\": true");
  check(request.max_tokens != 0, "\"max_tokens\" is 0; an answer has at least one token");
  for (const char* key : {"echo", "add_special_tokens"})
    check(!boolean_or(json, key, false), "\"{}\" is a completion's; the template writes what a conversation has", key);
  take_tools(json, ordered, request);
  if (json.has("chat_template_kwargs")) {
    require_object(json, "chat_template_kwargs");
    request.template_variables = ordered["chat_template_kwargs"];
  }
  if (json.has("reasoning_effort"))
    request.template_variables["reasoning_effort"] = require_string(json, "reasoning_effort");
  return request;
}

TextRequest parse_chat_request(std::string_view body) {
  const RequestBody read(body);
  const JsonObject& json = read.json;
  TextRequest request = chat_request_of(json, parse_json_in_order(body, "the request"));
  read.refuse_slips();
  return request;
}

TextRequest parse_completion_request(std::string_view body) {
  const RequestBody read(body);
  const JsonObject& json = read.json;
  TextRequest request = settings_of(json, parse_json_in_order(body, "the request"));
  check(json.has("prompt"), "\"prompt\" is missing");
  request.prompts = prompts_of(json.value()["prompt"]);
  const int64_t answers = std::ssize(request.prompts) * request.choices;
  check(answers <= most_choices, "the request wants {} answers; {} are the most", answers, most_choices);
  request.echo = boolean_or(json, "echo", false);
  check(!json.has("top_logprobs") || json.value()["top_logprobs"] == 0,
        "\"top_logprobs\" is a conversation's; of a completion \"logprobs\" is their number");
  request.special_tokens = boolean_or(json, "add_special_tokens", true);
  check(!json.has("logprobs") || json.value()["logprobs"] != true,
        "\"logprobs\" of a completion is how many of the likeliest come, 0 to {}", most_likeliest);
  if (json.has("logprobs") && json.value()["logprobs"] != false)
    request.likeliest = require_integer(json, "logprobs", 0, most_likeliest);
  check(request.max_tokens != 0 || (request.echo && request.likeliest),
        "\"max_tokens\" is 0, which leaves nothing to answer but with \"echo\" and \"logprobs\"");
  read.refuse_slips();
  return request;
}

}  // namespace vkformer
