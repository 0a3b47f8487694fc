#include "models/chat/chat_template.h"

#include <cctype>

#include "models/chat/jinja/evaluator.h"
#include "models/chat/jinja/json_text.h"
#include "models/chat/jinja/parser.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// The largest templates in use have about 30 KB.
constexpr size_t largest_template = size_t{1} << 20;

}  // namespace

struct ChatTemplate::Tree {
  jinja::Body body;
};

ChatTemplate::ChatTemplate(std::string_view source, std::string name) : name_(std::move(name)), source_(source) {
  check(source.size() <= largest_template, "{} has {} bytes; templates have at most {}", name_, source.size(),
        largest_template);
  tree_ = std::make_unique<const Tree>(Tree{jinja::parse(source, name_)});
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

bool ChatTemplate::mentions(std::string_view variable) const {
  const auto in_word = [&](size_t at) {
    return at < source_.size() && (std::isalnum(static_cast<unsigned char>(source_[at])) || source_[at] == '_');
  };
  for (size_t at = source_.find(variable); at != source_.npos; at = source_.find(variable, at + 1))
    if (!in_word(at - 1) && !in_word(at + variable.size())) return true;
  return false;
}

RenderedChat ChatTemplate::render(const Conversation& conversation) const {
  jinja::Evaluator::Variables variables;
  for (const auto& [name, value] : conversation.variables.items()) variables.emplace_back(name, jinja::value_of(value));
  variables.emplace_back("messages", jinja::value_of(conversation.messages));
  variables.emplace_back("tools", jinja::value_of(conversation.tools));
  variables.emplace_back("documents", jinja::value_of(conversation.documents));
  variables.emplace_back("add_generation_prompt", conversation.add_generation_prompt);
  jinja::Budget budget;
  jinja::Evaluator evaluator(budget, std::move(variables));
  try {
    evaluator.run(tree_->body);
  } catch (const Error& error) {
    fail("{}, line {}: {}", name_, evaluator.line(), error.what());
  }
  RenderedChat chat{.text = evaluator.output()};
  for (const auto& [begin, end] : evaluator.generated()) chat.generated.push_back({begin, end});
  return chat;
}

}  // namespace vkformer
