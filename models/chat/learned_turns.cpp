#include "models/chat/learned_turns.h"

#include "runtime/check.h"

namespace vkformer {

namespace {

using Part = RenderedChat::Part;

std::vector<Part> answers_in(const std::string& whole, const ChatTemplate& chat, const Conversation& conversation) {
  std::vector<Part> parts;
  Conversation talk = conversation;
  talk.messages = nlohmann::ordered_json::array();
  const auto written = [&](bool begins_answer) {
    talk.add_generation_prompt = begins_answer;
    return chat.render(talk).text;
  };
  for (const nlohmann::ordered_json& message : conversation.messages) {
    if (message.at("role") != "assistant") {
      talk.messages.push_back(message);
      continue;
    }
    const std::string before = talk.messages.empty() ? std::string() : written(true);
    talk.messages.push_back(message);
    const std::string with = written(false);
    const size_t end = &message == &conversation.messages.back() ? whole.size() : with.size();
    if (with.starts_with(before) && whole.starts_with(with) && before.size() < end)
      parts.push_back({before.size(), end});
  }
  return parts;
}

}  // namespace

std::vector<TextStretch> learned_turns(const ChatTemplate& chat, const Conversation& conversation) {
  const RenderedChat whole = chat.render(conversation);
  const std::vector<Part> parts =
      whole.generated.empty() ? answers_in(whole.text, chat, conversation) : whole.generated;
  check(!parts.empty(),
        "nothing is learned: no message is the assistant's, or {} shows the messages before it otherwise without it",
        chat.name());
  std::vector<TextStretch> stretches;
  size_t at = 0;
  for (const Part& part : parts) {
    if (part.begin > at) stretches.push_back({whole.text.substr(at, part.begin - at), false});
    stretches.push_back({whole.text.substr(part.begin, part.end - part.begin), true});
    at = part.end;
  }
  if (at < whole.text.size()) stretches.push_back({whole.text.substr(at), false});
  return stretches;
}

}  // namespace vkformer
