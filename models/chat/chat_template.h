#pragma once
// How a model wants a conversation written: the Jinja template that comes with it, as transformers'
// apply_chat_template() runs it (models/chat/jinja has the interpreter).

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// What a template gets to see.
struct Conversation {
  /// A list of {"role": .., "content": ..}, and what else a template reads ("tool_calls").
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  nlohmann::ordered_json tools = nullptr;      ///< JSON schemas of functions, if any
  nlohmann::ordered_json documents = nullptr;  ///< to be cited, if any
  /// The text ends where the assistant's answer begins.
  bool add_generation_prompt = false;
  /// Other variables by name: special tokens ("bos_token"), "enable_thinking".
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
};

struct RenderedChat {
  /// A part of the text, in bytes.
  struct Part {
    size_t begin = 0, end = 0;
  };
  std::string text;
  /// What the template marks with {% generation %}: the assistant's own words. Not within macros.
  std::vector<Part> generated;
};

/// A template, read once. Templates are not trusted: time, memory and levels are bounded (models/chat/jinja/budget.h),
/// and nothing outside of the conversation and the time can be seen.
class ChatTemplate {
 public:
  /// `name`: what errors call it. Throws Error, with name and line, for what is no template or not supported.
  ChatTemplate(std::string_view source, std::string name);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  const std::string& name() const { return name_; }
  const std::string& source() const { return source_; }
  /// Whether its text has the word `variable`: without it, nothing reads that variable.
  bool mentions(std::string_view variable) const;
  /// Throws Error, with name and line, where the template raises one, and for what is not supported.
  RenderedChat render(const Conversation& conversation) const;

 private:
  struct Tree;
  std::string name_, source_;
  std::unique_ptr<const Tree> tree_;
};

}  // namespace vkformer
