#pragma once
// Messages whose content is a list of parts, texts and pictures, as transformers and OpenAI write them.

#include <string>
#include <vector>

#include "models/chat/chat_template.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// The parts {"type": "image", "path": FILE} of each picture and {"type": "text", "text": ..} behind them.
nlohmann::ordered_json with_pictures(const std::string& text, const std::vector<std::string>& files);

struct MessageContent {
  std::string text;
  std::vector<std::string> pictures;  ///< files
};
/// Of a message whose content is a text or such a list. Throws Error for parts of another type.
MessageContent content_with_pictures(const JsonObject& message);

/// Messages as the template wants them: every content a list of parts where it reads parts, else a text, with `mark`
/// and a line's end for each picture before the words. `mark`: empty of a model that sees nothing, whose words become
/// parts only where the template would drop them otherwise.
nlohmann::ordered_json messages_for(const ChatTemplate& chat, nlohmann::ordered_json messages, const std::string& mark);

}  // namespace vkformer
