#pragma once
// What was said in a conversation, and how much of it a model's context can hold.

#include <filesystem>
#include <functional>

#include "models/chat/chat_template.h"

namespace vkformer {

class ChatHistory {
 public:
  /// Messages of the roles "user" and "assistant" take turns; a system message may stand before them.
  void set_system(std::string text);
  const std::string& system() const { return system_; }
  /// `pictures`: files that are shown with it.
  void add_question(std::string text, std::vector<std::string> pictures = {});
  void add_answer(std::string text);
  /// Takes back the last answer. False where there is none.
  bool drop_answer();
  /// Takes back the last question and its answer. False where there is none.
  bool drop_turn();
  /// All but the system message.
  void clear();

  int64_t turns() const { return static_cast<int64_t>(turns_.size()); }
  bool answered() const { return !turns_.empty() && turns_.back().answered; }

  /// The files of all pictures, in their order, without the turns before `first`.
  std::vector<std::string> pictures(int64_t first = 0) const;
  /// As a list of {"role", "content"}, without the turns before `first`. The content of a question with pictures is a
  /// list of parts, {"type": "image", "path"} and {"type": "text", "text"}.
  nlohmann::ordered_json messages(int64_t first = 0) const;
  /// The file holds that list, or an object that has it as "messages". Throws Error for other roles or another order.
  static ChatHistory load(const std::filesystem::path& path);
  void save(const std::filesystem::path& path) const;

 private:
  struct Turn {
    std::string question, answer;
    std::vector<std::string> pictures;
    bool answered = false;
  };
  std::string system_;
  std::vector<Turn> turns_;
};

/// The tokens of a history as a template writes it, up to where an answer begins. Where they leave less than `room`
/// positions of the context, the oldest turns are left out, so many that half of the context is free or that only the
/// last is left, and stay out: so the beginning, which the cache holds, changes rarely.
class ChatPrompts {
 public:
  /// `pictures`: files that the text has places for.
  using Encode = std::function<std::vector<int32_t>(std::string_view text, const std::vector<std::string>& pictures)>;
  /// `mark`: stands for a picture in a text; empty: the model sees none.
  ChatPrompts(ChatTemplate chat, nlohmann::ordered_json variables, Encode encode, int64_t context, int64_t room,
              std::string mark = {});

  /// Throws Error where the last turn alone is too long, and like ChatTemplate::render().
  std::vector<int32_t> of(const ChatHistory& history);
  /// Of the template.
  const std::string& name() const { return chat_.name(); }
  /// Turns that the last prompt leaves out.
  int64_t left_out() const { return left_out_; }

 private:
  std::vector<int32_t> encoded(const ChatHistory& history, int64_t first) const;

  ChatTemplate chat_;
  nlohmann::ordered_json variables_;
  Encode encode_;
  int64_t context_, room_;
  std::string mark_;
  int64_t left_out_ = 0;
};

}  // namespace vkformer
