#include "models/chat/message_parts.h"

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

nlohmann::ordered_json with_pictures(const std::string& text, const std::vector<std::string>& files) {
  auto parts = nlohmann::ordered_json::array();
  for (const std::string& file : files) parts.push_back({{"type", "image"}, {"path", file}});
  parts.push_back({{"type", "text"}, {"text", text}});
  return parts;
}

MessageContent content_with_pictures(const JsonObject& message) {
  if (!message.has("content") || !message.value()["content"].is_array())
    return {require_string(message, "content"), {}};
  MessageContent content;
  for (const JsonObject& part : require_objects(message, "content")) {
    const std::string type = require_string(part, "type");
    check(type == "text" || type == "image", "{}: parts of type {} are not supported; text and image are", part.name(),
          in_quotes(type));
    if (type == "text")
      content.text += require_string(part, "text");
    else
      content.pictures.push_back(require_string(part, "path"));
  }
  return content;
}

nlohmann::ordered_json messages_for(const ChatTemplate& chat, nlohmann::ordered_json messages,
                                    const std::string& mark) {
  const auto has = [&](const char* words) { return chat.source().find(words) != std::string::npos; };
  // Nobody else writes the first words in quotes. Without pictures only who takes no plain words needs parts.
  const bool parts =
      (has("'image'") || has("\"image\"")) && (!mark.empty() || !(has("is string") || has("is not string")));
  for (nlohmann::ordered_json& message : messages) {
    nlohmann::ordered_json& content = message["content"];
    if (parts && content.is_string()) content = with_pictures(content.get<std::string>(), {});
    if (parts || !content.is_array()) continue;
    std::string marks, words;
    for (const nlohmann::ordered_json& part : content)
      if (part.at("type") == "image")
        marks += mark + "\n";
      else
        words += part.at("text").get<std::string>();
    content = marks + words;
  }
  return messages;
}

}  // namespace vkformer
