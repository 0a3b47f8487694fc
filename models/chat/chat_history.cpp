#include "models/chat/chat_history.h"

#include "models/chat/message_parts.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

void ChatHistory::set_system(std::string text) { system_ = std::move(text); }

void ChatHistory::add_question(std::string text, std::vector<std::string> pictures) {
  check(turns_.empty() || turns_.back().answered, "the last question has no answer yet");
  turns_.push_back({.question = std::move(text), .pictures = std::move(pictures)});
}

void ChatHistory::add_answer(std::string text) {
  check(!turns_.empty() && !turns_.back().answered, "an answer needs a question before it");
  turns_.back().answer = std::move(text);
  turns_.back().answered = true;
}

bool ChatHistory::drop_answer() {
  if (!answered()) return false;
  turns_.back().answer.clear();
  turns_.back().answered = false;
  return true;
}

bool ChatHistory::drop_turn() {
  if (turns_.empty()) return false;
  turns_.pop_back();
  return true;
}

void ChatHistory::clear() { turns_.clear(); }

nlohmann::ordered_json ChatHistory::messages(int64_t first) const {
  auto messages = nlohmann::ordered_json::array();
  const auto add = [&](const char* role, const std::string& content) {
    messages.push_back({{"role", role}, {"content", content}});
  };
  if (!system_.empty()) add("system", system_);
  for (auto turn = turns_.begin() + first; turn != turns_.end(); ++turn) {
    if (turn->pictures.empty())
      add("user", turn->question);
    else
      messages.push_back({{"role", "user"}, {"content", with_pictures(turn->question, turn->pictures)}});
    if (turn->answered) add("assistant", turn->answer);
  }
  return messages;
}

std::vector<std::string> ChatHistory::pictures(int64_t first) const {
  std::vector<std::string> files;
  for (auto turn = turns_.begin() + first; turn != turns_.end(); ++turn)
    files.insert(files.end(), turn->pictures.begin(), turn->pictures.end());
  return files;
}

ChatHistory ChatHistory::load(const std::filesystem::path& path) {
  const JsonObject file = [&] {
    // A list becomes the object around it, so that both are read alike.
    const std::string text(MappedFile(path).text());
    const nlohmann::json json = parse_json(text, path.generic_string());
    return JsonObject::parse(json.is_array() ? nlohmann::json{{"messages", json}}.dump() : text, path.generic_string());
  }();
  check(file.has("messages"), "{} holds no conversation: \"messages\" is missing", printable(path.generic_string()));
  ChatHistory history;
  bool first = true;
  for (const JsonObject& message : require_objects(file, "messages")) {
    const std::string role = require_string(message, "role");
    MessageContent content = content_with_pictures(message);
    const bool question = role == "user" && (history.turns_.empty() || history.answered());
    const bool answer = role == "assistant" && !history.turns_.empty() && !history.answered();
    check(question || answer || (role == "system" && first), "{}: a message of '{}' can't stand here", message.name(),
          printable(role, 60));
    check(question || content.pictures.empty(), "{}: pictures stand in questions alone", message.name());
    if (question)
      history.add_question(std::move(content.text), std::move(content.pictures));
    else if (answer)
      history.add_answer(std::move(content.text));
    else
      history.set_system(std::move(content.text));
    first = false;
  }
  return history;
}

void ChatHistory::save(const std::filesystem::path& path) const {
  if (std::filesystem::exists(path)) try {
      load(path);
    } catch (const Error&) {
      fail("{} is there and holds something else than a conversation; choose another name",
           printable(path.generic_string()));
    }
  write_json(path, nlohmann::json{{"messages", nlohmann::json::parse(messages().dump())}});
}

ChatPrompts::ChatPrompts(ChatTemplate chat, nlohmann::ordered_json variables, Encode encode, int64_t context,
                         int64_t room, std::string mark)
    : chat_(std::move(chat)),
      variables_(std::move(variables)),
      encode_(std::move(encode)),
      context_(context),
      room_(room),
      mark_(std::move(mark)) {}

std::vector<int32_t> ChatPrompts::encoded(const ChatHistory& history, int64_t first) const {
  const Conversation conversation{.messages = messages_for(chat_, history.messages(first), mark_),
                                  .add_generation_prompt = true,
                                  .variables = variables_};
  return encode_(chat_.render(conversation).text, history.pictures(first));
}

std::vector<int32_t> ChatPrompts::of(const ChatHistory& history) {
  if (left_out_ >= history.turns()) left_out_ = 0;  // begun anew, or taken back
  std::vector<int32_t> ids = encoded(history, left_out_);
  if (std::ssize(ids) <= context_ - room_) return ids;
  while (std::ssize(ids) > context_ / 2 && left_out_ + 1 < history.turns()) ids = encoded(history, ++left_out_);
  check(std::ssize(ids) < context_,
        "the last question has {} tokens, the context {}; shorten it or the system's text, or give a larger "
        "--context, if the model has more",
        ids.size(), context_);
  return ids;
}

}  // namespace vkformer
