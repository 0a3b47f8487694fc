#include "models/serving/messages.h"
#include "models/serving/request_slips.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse_block(const JsonObject& block, const std::string& type) {
  fail("{}: blocks of type {} are not supported; a message is text", block.name(), in_quotes(type));
}

/// A text, or a list of blocks that are texts.
std::string text_of_blocks(const JsonObject& object, const char* key) {
  if (!object.has(key)) return {};
  if (object.value()[key].is_string()) return require_string(object, key);
  std::string text;
  for (const JsonObject& block : require_objects(object, key)) {
    const std::string type = require_string(block, "type");
    if (type != "text") refuse_block(block, type);
    text += require_string(block, "text");
  }
  return text;
}

/// Adds what a message's blocks make: results of tools are messages of their own.
void add_blocks(const JsonObject& message, const ordered_json& ordered, ordered_json& messages) {
  const std::string role = require_string(message, "role");
  ordered_json own{{"role", role}, {"content", ""}};
  const auto finish = [&] {
    if (own["content"] != "" || own.size() > 2) messages.push_back(own);
    own = {{"role", role}, {"content", ""}};
  };
  size_t number = 0;
  for (const JsonObject& block : require_objects(message, "content")) {
    const ordered_json& in_order = ordered["content"][number++];
    const std::string type = require_string(block, "type");
    if (type == "text") {
      own["content"].get_ref<std::string&>() += require_string(block, "text");
    } else if (type == "tool_result") {
      finish();
      messages.push_back({{"role", "tool"},
                          {"tool_call_id", require_string(block, "tool_use_id")},
                          {"content", text_of_blocks(block, "content")}});
    } else if (type == "tool_use") {
      const std::string id = require_string(block, "id"), name = require_string(block, "name");
      require_object(block, "input");
      own["tool_calls"].push_back(
          {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", in_order["input"]}}}});
    } else if (type == "thinking") {
      if (!own.contains("reasoning_content")) own["reasoning_content"] = "";
      own["reasoning_content"].get_ref<std::string&>() += require_string(block, "thinking");
    } else if (type != "redacted_thinking") {  // which nobody here can read
      refuse_block(block, type);
    }
  }
  finish();
}

ordered_json conversation_of(const JsonObject& json, const ordered_json& ordered) {
  auto messages = ordered_json::array();
  if (const std::string system = text_of_blocks(json, "system"); !system.empty())
    messages.push_back({{"role", "system"}, {"content", system}});
  size_t number = 0;
  for (const JsonObject& message : require_objects(json, "messages")) {
    const ordered_json& in_order = ordered["messages"][number++];
    check(message.has("content"), "{}: \"content\" is missing", message.name());
    if (message.value()["content"].is_string())
      messages.push_back({{"role", require_string(message, "role")}, {"content", in_order["content"]}});
    else
      add_blocks(message, in_order, messages);
  }
  check(number > 0, "\"messages\" is empty; give at least one message");
  return messages;
}

ordered_json tools_of(const JsonObject& json, const ordered_json& ordered) {
  auto tools = ordered_json::array();
  for (const JsonObject& tool : require_objects(json, "tools")) {
    const std::string type = string_or(tool, "type", "custom");
    check(type == "custom", "{}: tools of type {} are not supported; a tool is the client's own", tool.name(),
          in_quotes(type));
    ordered_json function{{"name", require_string(tool, "name")}};
    if (tool.has("description")) function["description"] = require_string(tool, "description");
    require_object(tool, "input_schema");
    function["parameters"] = ordered["tools"][tools.size()]["input_schema"];
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return tools;
}

void take_choice(const JsonObject& choice, ordered_json& chat) {
  const std::string type = require_string(choice, "type");
  if (type == "tool")
    chat["tool_choice"] = {{"type", "function"}, {"function", {{"name", require_string(choice, "name")}}}};
  else if (type == "any")
    chat["tool_choice"] = "required";
  else
    chat["tool_choice"] = type;
  check(type == "tool" || type == "any" || type == "auto" || type == "none",
        "{}: there is no type {}; take auto, any, tool or none", choice.name(), in_quotes(type));
  chat["parallel_tool_calls"] = !boolean_or(choice, "disable_parallel_tool_use", false);
}

}  // namespace

TextRequest parse_messages_request(std::string_view body, bool counts) {
  const RequestBody read(body);
  const JsonObject& json = read.json;
  read.asked->emplace("speed");  // of Anthropic's machines; not "seed"
  for (const char* key : {"container", "mcp_servers"}) check(!json.has(key), "\"{}\" is not supported", key);
  const auto ordered = parse_json_in_order(body, "the request");
  ordered_json chat = ordered;
  chat["messages"] = conversation_of(json, ordered);
  if (!counts) require_integer(json, "max_tokens", 1, INT32_MAX);
  if (json.has("stop_sequences")) chat["stop"] = ordered["stop_sequences"];
  if (json.has("tools")) chat["tools"] = tools_of(json, ordered);
  if (json.has("tool_choice")) take_choice(require_object(json, "tool_choice"), chat);
  if (json.has("chat_template_kwargs")) require_object(json, "chat_template_kwargs");
  if (json.has("thinking"))
    chat["chat_template_kwargs"]["enable_thinking"] =
        require_string(require_object(json, "thinking"), "type") != "disabled";
  if (json.has("output_config")) {
    const JsonObject output = require_object(json, "output_config");
    if (output.has("effort")) chat["reasoning_effort"] = require_string(output, "effort");
    if (output.has("format"))
      chat["response_format"] = {{"type", require_string(require_object(output, "format"), "type")},
                                 {"json_schema", ordered["output_config"]["format"]}};
  }
  JsonObject translated = JsonObject::make(chat, json.name());
  translated.keep_asked(read.asked);
  TextRequest request = chat_request_of(translated, chat);
  check(request.choices == 1 && !request.likeliest, "\"n\" and \"logprobs\" are /v1/chat/completions'");
  request.cut_to_room = true;
  read.refuse_slips();
  return request;
}

}  // namespace vkformer
