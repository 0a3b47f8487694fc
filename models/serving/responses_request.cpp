#include "models/serving/request_slips.h"
#include "models/serving/responses.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::ordered_json;

/// A text, or a list of parts that are texts.
std::string text_of_parts(const JsonObject& item, const char* key) {
  check(item.has(key), "{}: \"{}\" is missing", item.name(), key);
  if (item.value()[key].is_string()) return require_string(item, key);
  std::string text;
  for (const JsonObject& part : require_objects(item, key)) {
    const std::string type = require_string(part, "type");
    if (type == "refusal") {
      text += require_string(part, "refusal");
      continue;
    }
    check(type == "input_text" || type == "output_text" || type == "reasoning_text" || type == "summary_text",
          "{}: parts of type {} are not supported; a message is text", part.name(), in_quotes(type));
    text += require_string(part, "text");
  }
  return text;
}

/// A conversation's messages, made of items one by one.
class Messages {
 public:
  explicit Messages(const std::string& instructions) : instructed_(!instructions.empty()) {
    if (instructed_) messages_.push_back({{"role", "system"}, {"content", instructions}});
  }

  void add(const std::string& role, const std::string& text) {
    // Templates know one such message, at the beginning.
    if ((role == "system" || role == "developer") && instructed_ && messages_.size() == 1)
      messages_[0]["content"].get_ref<std::string&>() += "\n\n" + text;
    else if (role == "assistant" && own_ && messages_.back()["content"] == "")
      messages_.back()["content"] = text;
    else
      messages_.push_back({{"role", role}, {"content", text}});
    own_ = role == "assistant";
  }

  void add(const JsonObject& item) {
    const std::string type = string_or(item, "type", "message");
    if (type == "message") return add(require_string(item, "role"), text_of_parts(item, "content"));
    if (type == "function_call") return add_call(item);
    if (type == "function_call_output") {
      messages_.push_back({{"role", "tool"},
                           {"tool_call_id", require_string(item, "call_id")},
                           {"content", text_of_parts(item, "output")}});
      own_ = false;
      return;
    }
    check(type == "reasoning", "{}: items of type {} are not supported", item.name(), in_quotes(type));
    // Another server's may be encrypted: nothing is there then.
    const char* key = item.has("content") ? "content" : "summary";
    const std::string thoughts = item.has(key) ? text_of_parts(item, key) : "";
    if (!thoughts.empty()) begin_own()["reasoning_content"] = thoughts;
  }

  ordered_json take() { return std::move(messages_); }

 private:
  /// A message of the model's, to which further items may belong.
  ordered_json& begin_own() {
    messages_.push_back({{"role", "assistant"}, {"content", ""}});
    own_ = true;
    return messages_.back();
  }
  void add_call(const JsonObject& item) {
    ordered_json& message = own_ ? messages_.back() : begin_own();
    message["tool_calls"].push_back(
        {{"id", require_string(item, "call_id")},
         {"type", "function"},
         {"function", {{"name", require_string(item, "name")}, {"arguments", require_string(item, "arguments")}}}});
  }

  bool instructed_, own_ = false;  ///< the last message is the model's
  ordered_json messages_ = ordered_json::array();
};

ordered_json messages_of_input(const JsonObject& json) {
  check(json.has("input"), "\"input\" is missing");
  check(!json.has("messages"), "\"messages\" are /v1/chat/completions'; here they are called \"input\"");
  Messages messages(string_or(json, "instructions", ""));
  if (json.value()["input"].is_string())
    messages.add("user", require_string(json, "input"));
  else
    for (const JsonObject& item : require_objects(json, "input")) messages.add(item);
  check(json.value()["input"] != nlohmann::json::array(), "\"input\" is empty; give at least one item");
  return messages.take();
}

/// What would need something kept between requests, or another program's tools; with the values that need nothing.
void check_known_needs(const JsonObject& json) {
  static const nlohmann::json neutral = nlohmann::json::parse(R"({"store": false, "previous_response_id": null,
    "conversation": null, "background": false, "prompt": null, "truncation": "disabled", "n": 1, "top_logprobs": 0,
    "logprobs": false})");
  for (const auto& [key, value] : neutral.items())
    check(!json.has(key) || json.value()[key] == value, "\"{}\" must be {} or left out: {}", key, value.dump(),
          key == "store" || key == "previous_response_id" || key == "conversation" || key == "prompt"
              ? "nothing is kept between requests"
              : "nothing else is supported");
  if (!json.has("include")) return;
  for (const auto& what : json.value()["include"])  // thoughts are in the reply as they are
    check(what == "reasoning.encrypted_content", "\"include\": {} is not there", printable(what.dump(), 60));
}

/// {"type": "function", ..} with all else a level below, as chat completions have it.
ordered_json nested(ordered_json flat) {
  const ordered_json type = flat["type"];
  flat.erase("type");
  return {{"type", type}, {"function", std::move(flat)}};
}

/// The form of the text, as chat completions' "response_format".
ordered_json format_of(const JsonObject& json, ordered_json format) {
  const JsonObject object = require_object(require_object(json, "text"), "format");
  if (require_string(object, "type") != "json_schema") return format;
  check(object.has("schema"), "{}: \"schema\" is missing", object.name());
  format.erase("type");
  return {{"type", "json_schema"}, {"json_schema", std::move(format)}};
}

ordered_json choice_of(const JsonObject& json, ordered_json choice) {
  if (!choice.is_object()) return choice;
  const JsonObject object = require_object(json, "tool_choice");
  const std::string type = require_string(object, "type");
  check(type == "function", "{}: type {} is not supported; name a function", object.name(), in_quotes(type));
  return nested(std::move(choice));
}

/// What the reply repeats.
nlohmann::json said_by(const JsonObject& json) {
  static const nlohmann::json usual =
      nlohmann::json::parse(R"({"instructions": null, "max_output_tokens": null, "metadata": {},
    "parallel_tool_calls": true, "previous_response_id": null, "reasoning": {"effort": null, "summary": null},
    "store": false, "temperature": null, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
    "top_p": null, "truncation": "disabled"})");
  nlohmann::json said = usual;
  for (const auto& [key, value] : usual.items())
    if (json.has(key)) said[key] = json.value()[key];
  return said;
}

}  // namespace

ResponsesRequest parse_responses_request(std::string_view body) {
  const RequestBody read(body);
  const JsonObject& json = read.json;
  check_known_needs(json);
  auto chat = parse_json_in_order(body, "the request");
  chat["messages"] = messages_of_input(json);
  if (json.has("max_output_tokens")) chat["max_tokens"] = require_integer(json, "max_output_tokens", 1, INT32_MAX);
  if (json.has("tools")) {
    require_objects(json, "tools");
    for (auto& tool : chat["tools"]) tool = nested(tool);
  }
  if (json.has("tool_choice")) chat["tool_choice"] = choice_of(json, chat["tool_choice"]);
  if (json.has("text")) {
    const JsonObject text = require_object(json, "text");
    check(!text.has("verbosity") || text.value()["verbosity"] == "medium",
          "{}: \"verbosity\" must be \"medium\" or left out: nothing else is supported", text.name());
    if (text.has("format")) chat["response_format"] = format_of(json, chat["text"]["format"]);
  }
  if (json.has("reasoning"))
    if (const JsonObject reasoning = require_object(json, "reasoning"); reasoning.has("effort"))
      chat["reasoning_effort"] = require_string(reasoning, "effort");
  JsonObject translated = JsonObject::make(chat, json.name());
  translated.keep_asked(read.asked);
  ResponsesRequest request{.text = chat_request_of(translated, chat), .said = said_by(json)};
  read.refuse_slips();
  return request;
}

}  // namespace vkformer
